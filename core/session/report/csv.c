/* SPDX-License-Identifier: Apache-2.0 */
/* Maps as comma-separated values (RFC 4180): one line for each value of each entry, formatted as in the text report. */
#include "report.h"
#include "core/session/stacks/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE 16384

struct rows {
	struct gpubpf_session *s;
	uint32_t map;
	const struct btf *btf;
	struct gpubpf_typed_names names;
	FILE *out;
	char key[TEXT_SIZE], value[TEXT_SIZE];
};

static const struct gpubpf_map *map_of(const struct rows *r)
{
	return &r->s->loaded->unit.maps[r->map];
}

static void put_field(FILE *out, const char *text, char end)
{
	bool quoted = text[strcspn(text, ",\"\r\n")];

	if (quoted)
		fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	if (quoted)
		fputc('"', out);
	fputc(end, out);
}

static void format_value(const struct rows *r, uint32_t type, const void *data, size_t size, char *text)
{
	bool is_signed;

	if (gpubpf_btf_is_int(r->btf, type, size, &is_signed) && !gpubpf_btf_has_meaning(r->btf, type))
		snprintf(text, TEXT_SIZE, is_signed ? "%lld" : "%llu", (long long)gpubpf_int_read(data, size, is_signed));
	else if (gpubpf_typed_text(r->btf, type, &r->names, data, size, text, TEXT_SIZE) < 0)
		snprintf(text, TEXT_SIZE, "(%zu bytes)", size);
}

/* Writes a line for copy `copy` of the entry's value; -1: the entry has a single value. */
static void put_row(struct rows *r, const struct gpubpf_entry *entry, int64_t copy)
{
	const struct gpubpf_session_arena *a = entry->arena < 0 ? NULL : &r->s->arenas[entry->arena];

	put_field(r->out, map_of(r)->name, ',');
	if (a)
		fprintf(r->out, "%u,%s,%u,", a->process, a->backend, a->device);
	else
		fprintf(r->out, ",,,");
	put_field(r->out, r->key, ',');
	if (copy >= 0)
		fprintf(r->out, "%lld", (long long)copy);
	fputc(',', r->out);
	put_field(r->out, r->value, '\n');
}

static void put_variables(struct rows *r, const struct gpubpf_entry *entry)
{
	struct gpubpf_variable var;

	for (uint32_t i = 0; gpubpf_variable_at(r->btf, map_of(r), i, &var); i++) {
		snprintf(r->key, sizeof(r->key), "%s", var.name);
		format_value(r, var.type, (const uint8_t *)entry->value + var.offset, var.size, r->value);
		put_row(r, entry, -1);
	}
}

static void put_key(struct rows *r, const struct gpubpf_entry *entry)
{
	const struct gpubpf_map *map = map_of(r);
	uint32_t index;

	r->key[0] = 0;
	if (map->type->flags & GPUBPF_MAP_U32KEY && !map->btf_key) {
		memcpy(&index, entry->key, sizeof(index));
		snprintf(r->key, sizeof(r->key), "%u", index);
	} else if (map->key_size) {
		format_value(r, map->btf_key, entry->key, map->key_size, r->key);
	}
}

static void put_stack(struct rows *r, const struct gpubpf_stack *stack)
{
	r->value[0] = 0;
	if (stack)
		gpubpf_stack_line(r->s, stack, true, r->value, sizeof(r->value));
}

/* Writes the lines of an entry. Zero values of arrays and of copies are omitted, as in the text report. */
static int put_entry(void *arg, const struct gpubpf_entry *entry)
{
	struct rows *r = arg;
	const struct gpubpf_map *map = map_of(r);
	bool several = entry->copies > 1 || gpubpf_map_omits_zeros(map);

	if (map->global_data && map->btf_value) {
		put_variables(r, entry);
		return 0;
	}
	put_key(r, entry);
	for (uint32_t i = 0; i < entry->copies; i++) {
		struct gpubpf_entry one = *entry;

		one.value = (const uint8_t *)entry->value + i * entry->stride;
		one.value_size = map->value_size;
		one.copies = 1;
		if (several && gpubpf_entry_is_zero(&one))
			continue;
		if (gpubpf_map_holds_objects(map))
			snprintf(r->value, sizeof(r->value), "%s", gpubpf_entry_object_name(map, one.value));
		else if (map->type->flags & GPUBPF_MAP_STACKS)
			put_stack(r, gpubpf_stack_by_key(map, entry->key));
		else
			format_value(r, map->btf_value, one.value, map->value_size, r->value);
		put_row(r, &one, map->type->flags & GPUBPF_MAP_COPIES ? (int64_t)i : -1);
	}
	return 0;
}

int gpubpf_report_csv(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts)
{
	const struct gpubpf_unit *unit = &s->loaded->unit;
	struct rows *r = malloc(sizeof(*r));
	int err = r ? 0 : -ENOMEM;

	if (r)
		*r = (struct rows){ .s = s, .out = out, .names = gpubpf_session_names(s, opts) };
	if (r)
		fprintf(out, "map,process,backend,device,key,copy,value\n");
	for (uint32_t i = 0; i < unit->nmaps && !err; i++) {
		r->map = i;
		r->btf = gpubpf_map_btf(s, i);
		if (gpubpf_report_includes_map(opts, &unit->maps[i]) && !gpubpf_map_is_not_iterable(&unit->maps[i]))
			err = gpubpf_entries_walk(s, i, put_entry, r);
	}
	free(r);
	return err;
}
