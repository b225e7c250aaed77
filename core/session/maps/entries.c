/* SPDX-License-Identifier: Apache-2.0 */
#include "entries.h"
#include "private.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "synced.h"
#include "core/session/stacks/stacks.h"

struct walk {
	const struct gpubpf_session *s;
	uint32_t map;
	gpubpf_entry_fn fn;
	void *arg;
	uint8_t *key, *next, *value;
};

/*
 * Returns true if the arena may have values, because a device uses it. Also returns true for arena 0 if the map has one
 * value per CPU, because reports show these values with arena 0.
 */
static bool is_used(const struct gpubpf_session *s, uint32_t map, uint32_t arena)
{
	return s->maps->arenas[arena].used || (!arena && gpubpf_linux_cpus_size(s, map));
}

static uint32_t count_used_arenas(const struct gpubpf_session *s, uint32_t map)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->maps->narenas; i++)
		n += is_used(s, map, i);
	return n;
}

const char *gpubpf_entry_object_name(const struct gpubpf_map *map, const void *value)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(map->session);
	uint32_t number = 0;

	if (!gpubpf_map_holds_objects(map))
		return NULL;
	memcpy(&number, value, sizeof(number));
	for (uint32_t i = 0; i < map->ntargets; i++)
		if (map->targets[i].number == number)
			return map->targets[i].name;
	if (!map->inner)
		return "";
	return number && number <= unit->nmaps ? unit->maps[number - 1].name : "";
}

static int emit_entry(struct walk *w, const struct gpubpf_map_view *view, size_t size, int arena)
{
	struct gpubpf_entry entry = {
		.key = w->key,
		.value = w->value,
		.value_size = size,
		.stride = size,
		.copies = 1,
		.arena = arena,
	};

	if (view->map->type->flags & GPUBPF_MAP_COPIES) {
		entry.stride = (view->map->value_size + 7) & ~7ul;
		entry.copies = size / entry.stride;
	}
	return w->fn(w->arg, &entry);
}

static int walk_arena(struct walk *w, uint32_t arena, int tag)
{
	struct gpubpf_map_view view = gpubpf_arena_view(w->s, arena, w->map);
	size_t size = gpubpf_map_user_value_size(&view), cpus = arena ? 0 : gpubpf_linux_cpus_size(w->s, w->map);
	uint64_t cursor = 0;
	int err = 0;

	while (!err) {
		err = gpubpf_map_iterate(&view, &cursor, w->key, w->value);
		if (!err && cpus && gpubpf_linux_cpus_lookup(w->s, w->map, w->key, w->value + size) < 0)
			memset(w->value + size, 0, cpus);
		if (!err)
			err = emit_entry(w, &view, size + cpus, tag);
	}
	return err == -ENOENT ? 0 : err;
}

static int walk_merged(struct walk *w)
{
	const struct gpubpf_map *map = &gpubpf_session_unit(w->s)->maps[w->map];
	struct gpubpf_map_view view = gpubpf_arena_view(w->s, 0, w->map);
	uint64_t left = (uint64_t)map->max_entries * w->s->maps->narenas;
	int err = gpubpf_map__get_next_key(map, NULL, w->key, map->key_size);

	for (; !err && left; left--) {
		if (!gpubpf_map__lookup_elem(map, w->key, map->key_size, w->value, map->value_size, 0))
			err = emit_entry(w, &view, map->value_size, -1);
		if (!err)
			err = gpubpf_map__get_next_key(map, w->key, w->next, map->key_size);
		if (!err)
			memcpy(w->key, w->next, map->key_size);
	}
	return err == -ENOENT ? 0 : err;
}

static int walk_all(struct walk *w)
{
	uint32_t used = count_used_arenas(w->s, w->map), flags = gpubpf_session_unit(w->s)->maps[w->map].type->flags;
	int err = 0;

	if (used > 1 && !(flags & GPUBPF_MAP_COPIES) && gpubpf_map_is_merged(w->s, w->map))
		return walk_merged(w);
	if (!used)
		return walk_arena(w, 0, -1);
	for (uint32_t i = 0; i < w->s->maps->narenas && !err; i++)
		if (is_used(w->s, w->map, i))
			err = walk_arena(w, i, used > 1 ? (int)i : -1);
	return err;
}

int gpubpf_entries_walk(const struct gpubpf_session *s, uint32_t map, gpubpf_entry_fn fn, void *arg)
{
	const struct gpubpf_map *m = &gpubpf_session_unit(s)->maps[map];
	struct walk w = { s, map, fn, arg };
	size_t max_size = 8;
	int err = -ENOMEM;

	if (gpubpf_map_is_not_iterable(m))
		return 0;
	for (uint32_t i = 0; i < s->maps->narenas; i++) {
		struct gpubpf_map_view view = gpubpf_arena_view(s, i, map);
		size_t size = gpubpf_map_user_value_size(&view);

		max_size = size > max_size ? size : max_size;
	}
	w.key = malloc(m->key_size + 1);
	w.next = malloc(m->key_size + 1);
	w.value = malloc(max_size + gpubpf_linux_cpus_size(s, map));
	if (w.key && w.next && w.value)
		err = walk_all(&w);
	free(w.key);
	free(w.next);
	free(w.value);
	return err;
}

struct counting {
	bool skips_zeros;
	int64_t n[GPUBPF_MAX_ARENAS];
};

static int count_entry(void *arg, const struct gpubpf_entry *entry)
{
	struct counting *c = arg;

	c->n[entry->arena < 0 ? 0 : entry->arena] += !c->skips_zeros || !gpubpf_entry_is_zero(entry);
	return 0;
}

int64_t gpubpf_entries_count(const struct gpubpf_session *s, uint32_t map)
{
	const struct gpubpf_map *m = &gpubpf_session_unit(s)->maps[map];
	struct counting c = { .skips_zeros = gpubpf_map_omits_zeros(m) };
	int err = gpubpf_map_is_not_iterable(m) ? -EOPNOTSUPP : gpubpf_entries_walk(s, map, count_entry, &c);

	for (uint32_t i = 1; i < GPUBPF_MAX_ARENAS; i++)
		c.n[0] = c.n[i] > c.n[0] ? c.n[i] : c.n[0];
	return err ? err : c.n[0];
}

bool gpubpf_map_is_not_iterable(const struct gpubpf_map *map)
{
	return map->type->flags & (GPUBPF_MAP_RING | GPUBPF_MAP_ASKED) ||
	       map->type->ops & GPUBPF_OP_BIT(GPUBPF_OP_HOST_CALL);
}

bool gpubpf_map_omits_zeros(const struct gpubpf_map *map)
{
	return map->max_entries > 1 && map->type->flags & GPUBPF_MAP_U32KEY;
}

bool gpubpf_entry_is_zero(const struct gpubpf_entry *entry)
{
	const uint8_t *v = entry->value;

	return !entry->value_size || (!v[0] && !memcmp(v, v + 1, entry->value_size - 1));
}

/* -- types -- */

const struct btf *gpubpf_map_btf(const struct gpubpf_session *s, uint32_t map)
{
	int object = gpubpf_session_unit(s)->maps[map].object;

	return object >= 0 && (uint32_t)object < gpubpf_session_loaded(s)->nobjects ?
		       gpubpf_session_loaded(s)->objects[object].btf :
		       NULL;
}

uint32_t gpubpf_btf_strip(const struct btf *btf, uint32_t type)
{
	const struct btf_type *t = btf ? btf__type_by_id(btf, type) : NULL;

	for (int depth = 0; t && depth < 32; depth++) {
		if (!btf_is_mod(t) && !btf_is_typedef(t))
			return type;
		type = t->type;
		t = btf__type_by_id(btf, type);
	}
	return 0;
}

bool gpubpf_btf_is_int(const struct btf *btf, uint32_t type, size_t size, bool *is_signed)
{
	const struct btf_type *t;

	type = gpubpf_btf_strip(btf, type);
	t = type ? btf__type_by_id(btf, type) : NULL;
	if (!t || !btf_is_int(t) || t->size != size || size > 8 || (size & (size - 1)))
		return false;
	*is_signed = btf_int_encoding(t) & BTF_INT_SIGNED;
	return true;
}

bool gpubpf_btf_has_meaning(const struct btf *btf, uint32_t type)
{
	return gpubpf_typed_is(btf, type, "gpubpf_kernel") || gpubpf_typed_is(btf, type, "gpubpf_address") ||
	       gpubpf_typed_is(btf, type, "uintptr_t") || gpubpf_typed_is(btf, type, "gpubpf_stack") ||
	       gpubpf_typed_is(btf, type, "gpubpf_stack_number");
}

uint64_t gpubpf_int_read(const void *data, size_t size, bool is_signed)
{
	uint32_t shift = 64 - 8 * size;
	uint64_t v = 0;

	memcpy(&v, data, size);
	return is_signed ? (uint64_t)((int64_t)(v << shift) >> shift) : v;
}

/* -- histograms -- */

bool gpubpf_hist_map(const struct gpubpf_session *s, uint32_t map, struct gpubpf_hist_shape *shape)
{
	const struct gpubpf_map *m = &gpubpf_session_unit(s)->maps[map];
	const struct btf *btf = gpubpf_map_btf(s, map);
	bool is_signed;

	if (!(m->type->flags & GPUBPF_MAP_KEYED) || !(m->type->flags & GPUBPF_MAP_U32KEY) ||
	    (m->type->flags & GPUBPF_MAP_THREAD) || m->global_data || m->max_entries < 2 || m->max_entries > 64)
		return false;
	if (!gpubpf_hist_slot(btf, m->btf_value, shape)) {
		if (!gpubpf_var_tagged(btf, m->name, "gpubpf:hist") || (m->value_size != 4 && m->value_size != 8) ||
		    !gpubpf_btf_is_int(btf, m->btf_value, m->value_size, &is_signed) || is_signed)
			return false;
		*shape = (struct gpubpf_hist_shape){ .width = m->value_size };
	}
	shape->n = m->max_entries;
	return true;
}

void gpubpf_hist_add_entry(const struct gpubpf_hist_shape *shape, const struct gpubpf_entry *entry, uint64_t *slot)
{
	uint32_t key;

	memcpy(&key, entry->key, sizeof(key));
	for (uint32_t c = 0; c < entry->copies && key < shape->n; c++)
		slot[key] += gpubpf_int_read((const uint8_t *)entry->value + c * entry->stride, shape->width, false);
}

void gpubpf_hist_add_copies(const struct gpubpf_hist_shape *shape, const struct gpubpf_entry *entry, uint64_t *slot)
{
	for (uint32_t c = 0; c < entry->copies; c++)
		gpubpf_hist_add(shape, (const uint8_t *)entry->value + c * entry->stride, slot);
}

void gpubpf_map_hists(const struct gpubpf_session *s, uint32_t map, struct gpubpf_hists *hists)
{
	const struct gpubpf_map *m = &gpubpf_session_unit(s)->maps[map];
	bool none = !(m->type->flags & GPUBPF_MAP_KEYED) || (m->type->flags & GPUBPF_MAP_THREAD) || m->global_data;

	gpubpf_hists_find(gpubpf_map_btf(s, map), none ? 0 : m->btf_value, m->value_size, hists);
}

static const char *kernel_name(void *s, uint64_t id)
{
	return gpubpf_kernel_full_name(s, id);
}

static const char *demangled_kernel_name(void *s, uint64_t id)
{
	return gpubpf_kernel_display_name(s, id, true);
}

static const struct gpubpf_typed_param *kernel_params(void *s, uint64_t id, uint32_t *n)
{
	return gpubpf_signature_params(gpubpf_kernel_signature(s, id), n);
}

static const char *stack_text_by_id(void *s, uint64_t id)
{
	const struct gpubpf_stack *stack = gpubpf_stack_by_id(s, id);

	return stack ? gpubpf_stack_text(s, stack) : NULL;
}

static const char *stack_text_by_number(void *s, uint64_t number)
{
	const struct gpubpf_stack *stack = gpubpf_stacks_find(gpubpf_session_stack_table(s), number);

	return stack ? gpubpf_stack_text(s, stack) : NULL;
}

struct gpubpf_typed_names gpubpf_session_names(struct gpubpf_session *s, const struct gpubpf_report_opts *opts)
{
	return (struct gpubpf_typed_names){
		opts->demangle && !opts->json ? demangled_kernel_name : kernel_name,
		s,
		opts->json_strings,
		kernel_params,
		stack_text_by_id,
		stack_text_by_number,
	};
}
