/* SPDX-License-Identifier: Apache-2.0 */
/* Writes maps as text: tables in the style of bpftool, histograms in the style of bpftrace. */
#include "text_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch_times.h"
#include "rows.h"
#include "core/session/stacks/stacks.h"
#include "table.h"

#define MAX_ROWS 100           /* maximum rows of a map in the report at the end; `map dump` and -j show all */
#define MAX_COPIES 16          /* maximum values listed per key; integers are summed up instead; `map dump` lists all */
#define KEY_SIZE 4608          /* enough for a kernel's name, which can have 4,095 bytes */
#define VALUE_SIZE 16384

/* buffer for one value; not on the stack, which may be small (ulimit -s) */
static _Thread_local char value_text[VALUE_SIZE];

struct shown {
	struct gpubpf_session *s;
	uint32_t map;
	const struct btf *btf;
	FILE *out;
	struct gpubpf_typed_names names;
	struct gpubpf_table table;
	uint64_t limit, entries, drawn, omitted;
	bool tagged, skip_zeros;
	bool is_int, is_signed, is_ns; /* the values are integers, signed integers, nanoseconds */
	bool is_rows;
	struct gpubpf_rows rows;
	bool is_hist; /* the map's entries are slots of one histogram */
	struct gpubpf_hist_shape shape;
	struct gpubpf_hists hists; /* the histograms in each value */
	uint64_t *slot;            /* [GPUBPF_HIST_SLOTS] */
};

static const struct gpubpf_map *map_of(const struct shown *sh)
{
	return &gpubpf_session_unit(sh->s)->maps[sh->map];
}

static void format_value(const struct shown *sh, uint32_t type, const void *data, size_t size, char *buf, size_t room)
{
	if (gpubpf_typed_text(sh->btf, type, &sh->names, data, size, buf, room) < 0)
		snprintf(buf, room, "(%zu bytes)", size);
}

const char *gpubpf_text_value(const struct btf *btf, const struct gpubpf_typed_names *names, uint32_t type,
			      const void *data, size_t size)
{
	const struct shown sh = { .btf = btf, .names = *names };

	format_value(&sh, type, data, size, value_text, sizeof(value_text));
	return value_text;
}

/*
 * Add the cell of a row's process and device. Each runtime numbers its own devices. So the cell also names the runtime
 * if kernels ran on several runtimes.
 */
static void put_owner(struct shown *sh, const struct gpubpf_session_arena *a)
{
	if (gpubpf_report_has_several_runtimes(sh->s) && a->backend[0])
		gpubpf_table_cell(&sh->table, "%u/%s:%u", a->process, a->backend, a->device);
	else
		gpubpf_table_cell(&sh->table, "%u/%u", a->process, a->device);
}

static void format_key(const struct shown *sh, const struct gpubpf_entry *entry, char *buf, size_t room)
{
	const struct gpubpf_map *map = map_of(sh);
	uint32_t index;

	if (map->type->flags & GPUBPF_MAP_U32KEY && !map->btf_key) {
		memcpy(&index, entry->key, sizeof(index));
		snprintf(buf, room, "%u", index);
	} else {
		format_value(sh, map->btf_key, entry->key, map->key_size, buf, room);
	}
}

static void put_key(struct shown *sh, const struct gpubpf_entry *entry)
{
	char text[KEY_SIZE];

	format_key(sh, entry, text, sizeof(text));
	if (map_of(sh)->key_size)
		gpubpf_table_text(&sh->table, text);
	if (sh->tagged)
		put_owner(sh, gpubpf_arena_at(sh->s, entry->arena < 0 ? 0 : entry->arena));
}

static void put_int(struct shown *sh, uint64_t v)
{
	char text[24];

	if (sh->is_ns)
		gpubpf_table_cell(&sh->table, "%s", gpubpf_duration(v, text));
	else
		gpubpf_table_number(&sh->table, v, sh->is_signed);
}

static void put_mean(struct shown *sh, double v)
{
	if (sh->is_ns)
		put_int(sh, v);
	else
		gpubpf_table_cell(&sh->table, "%.1f", v);
}

/* -- maps with one value per key -- */

static int show_entry(void *arg, const struct gpubpf_entry *entry)
{
	struct shown *sh = arg;
	const struct gpubpf_map *map = map_of(sh);

	if (sh->skip_zeros && gpubpf_entry_is_zero(entry))
		return 0;
	if (sh->entries++ >= sh->limit) {
		sh->omitted++;
		return 0;
	}
	put_key(sh, entry);
	if (sh->is_int) {
		put_int(sh, gpubpf_int_read(entry->value, map->value_size, sh->is_signed));
		return 0;
	}
	format_value(sh, map->btf_value, entry->value, map->value_size, value_text, sizeof(value_text));
	gpubpf_table_text(&sh->table,
			  gpubpf_map_holds_objects(map) ? gpubpf_entry_object_name(map, entry->value) : value_text);
	return 0;
}

/* -- maps with one value per multiprocessor or thread -- */

struct summary {
	uint64_t sum, min, max;
	uint32_t nonzero;
	uint64_t slot[64]; /* histogram: number of values per power of two */
};

static void summarise(const struct shown *sh, const struct gpubpf_entry *entry, struct summary *sum)
{
	uint32_t size = map_of(sh)->value_size;

	*sum = (struct summary){ .min = UINT64_MAX };
	for (uint32_t i = 0; i < entry->copies; i++) {
		uint64_t v = gpubpf_int_read((const uint8_t *)entry->value + i * entry->stride, size, false);

		if (!v)
			continue;
		sum->nonzero++;
		sum->sum += v;
		sum->min = v < sum->min ? v : sum->min;
		sum->max = v > sum->max ? v : sum->max;
		sum->slot[63 - __builtin_clzll(v)]++;
	}
}

static void show_copies_int(struct shown *sh, const struct gpubpf_entry *entry)
{
	struct summary sum;

	summarise(sh, entry, &sum);
	put_key(sh, entry);
	put_int(sh, sum.sum);
	gpubpf_table_cell(&sh->table, "%u", sum.nonzero);
	put_int(sh, sum.nonzero ? sum.min : 0);
	put_int(sh, sum.max);
	put_mean(sh, sum.nonzero ? (double)sum.sum / sum.nonzero : 0);
	gpubpf_table_cell(&sh->table, "%.2f", sum.sum ? (double)sum.max * sum.nonzero / sum.sum : 1.0);
	if (map_of(sh)->type->flags & GPUBPF_MAP_THREAD)
		for (int i = 0; i < 64; i++)
			sh->slot[i] += sum.slot[i];
}

static void show_copies_other(struct shown *sh, const struct gpubpf_entry *entry)
{
	const struct gpubpf_map *map = map_of(sh);
	bool none = gpubpf_entry_is_zero(entry);
	uint32_t rows = 0;

	for (uint32_t i = 0; i < (none ? 1 : entry->copies); i++) {
		struct gpubpf_entry one = *entry;

		one.value = (const uint8_t *)entry->value + i * entry->stride;
		one.value_size = map->value_size;
		if (gpubpf_entry_is_zero(&one) && !none)
			continue;
		if (rows++ >= MAX_COPIES && sh->limit != UINT64_MAX) {
			sh->omitted++;
			continue;
		}
		put_key(sh, &one);
		gpubpf_table_cell(&sh->table, "%u", i);
		format_value(sh, map->btf_value, one.value, one.value_size, value_text, sizeof(value_text));
		gpubpf_table_cell(&sh->table, "%s", value_text);
	}
}

static int show_copies(void *arg, const struct gpubpf_entry *entry)
{
	struct shown *sh = arg;

	if (map_of(sh)->type->flags & GPUBPF_MAP_U32KEY && gpubpf_entry_is_zero(entry))
		return 0;
	if (sh->entries++ >= sh->limit)
		sh->omitted++;
	else if (sh->is_int)
		show_copies_int(sh, entry);
	else
		show_copies_other(sh, entry);
	return 0;
}

/* -- maps whose keys and values are rows of a table -- */

static int add_row(void *arg, const struct gpubpf_entry *entry)
{
	struct shown *sh = arg;

	return gpubpf_entry_is_zero(entry) ? 0 : gpubpf_rows_add(&sh->rows, entry);
}

/* Add the cell of a row for a column. A column of amounts has several cells. */
static void put_cells(struct shown *sh, const struct gpubpf_row *row, const struct gpubpf_row_column *column)
{
	const uint8_t *data = gpubpf_row_data(&sh->rows, row, column);
	char text[KEY_SIZE];

	if (column->amounts) {
		gpubpf_rows_amounts(&sh->rows, row, column, &sh->table);
		return;
	}
	format_value(sh, column->type, data, column->size, text, sizeof(text));
	gpubpf_table_cell(&sh->table, "%s", text);
}

static void put_rows(struct shown *sh)
{
	const struct gpubpf_rows *rows = &sh->rows;

	gpubpf_rows_sort(&sh->rows);
	for (uint32_t i = 0; i < rows->n && i < sh->limit; i++) {
		for (uint32_t c = 0; c < rows->ncolumns; c++) {
			if (c == rows->nkeys && sh->tagged)
				put_owner(sh, gpubpf_arena_at(sh->s, rows->row[i].arena < 0 ? 0 : rows->row[i].arena));
			put_cells(sh, &rows->row[i], &rows->column[c]);
		}
	}
	sh->entries = rows->n;
	sh->omitted += rows->n > sh->limit ? rows->n - sh->limit : 0;
}

/* -- histograms -- */

static int add_slot(void *arg, const struct gpubpf_entry *entry)
{
	struct shown *sh = arg;

	gpubpf_hist_add_entry(&sh->shape, entry, sh->slot);
	return 0;
}

static void draw_hist(struct shown *sh, const char *title, const char *path, const struct gpubpf_hist_shape *shape,
		      const struct gpubpf_entry *entry)
{
	memset(sh->slot, 0, GPUBPF_HIST_SLOTS * sizeof(*sh->slot));
	gpubpf_hist_add_copies(shape, entry, sh->slot);
	fprintf(sh->out, "  %s%s\n", title, path);
	gpubpf_hist_print(shape, sh->slot, sh->out);
}

/* Draw the histograms of a value, below the table that has the value's other members. */
static int draw_hists(void *arg, const struct gpubpf_entry *entry)
{
	struct shown *sh = arg;
	char key[KEY_SIZE], title[KEY_SIZE + 4];

	if (gpubpf_entry_is_zero(entry))
		return 0;
	if (sh->drawn++ >= sh->limit) {
		sh->omitted += sh->hists.only;
		return 0;
	}
	format_key(sh, entry, key, sizeof(key));
	snprintf(title, sizeof(title), "[%s]", key);
	for (uint32_t i = 0; i < sh->hists.n; i++)
		draw_hist(sh, title, sh->hists.path[i], &sh->hists.shape[i], entry);
	return 0;
}

/* -- global data -- */

static int show_variables(void *arg, const struct gpubpf_entry *entry)
{
	struct shown *sh = arg;
	struct gpubpf_variable var;

	for (uint32_t i = 0; gpubpf_variable_at(sh->btf, map_of(sh), i, &var); i++) {
		format_value(sh, var.type, (const uint8_t *)entry->value + var.offset, var.size, value_text,
			     sizeof(value_text));
		gpubpf_table_cell(&sh->table, "%s", var.name);
		gpubpf_table_cell(&sh->table, "%s", value_text);
		sh->entries++;
	}
	return 0;
}

static int draw_variables(void *arg, const struct gpubpf_entry *entry)
{
	struct shown *sh = arg;
	struct gpubpf_variable var;

	for (uint32_t i = 0; gpubpf_variable_at(sh->btf, map_of(sh), i, &var); i++) {
		const uint8_t *data = (const uint8_t *)entry->value + var.offset;
		struct gpubpf_entry one = { .value = data, .value_size = var.size, .copies = 1 };

		gpubpf_hists_find(sh->btf, var.type, var.size, &sh->hists);
		for (uint32_t h = 0; h < sh->hists.n; h++)
			draw_hist(sh, var.name, sh->hists.path[h], &sh->hists.shape[h], &one);
	}
	return 0;
}

/* -- one map -- */

static void add_headings(struct shown *sh)
{
	const struct gpubpf_map *map = map_of(sh);
	bool copies = map->type->flags & GPUBPF_MAP_COPIES;
	const char *copy = (map->type->flags & GPUBPF_MAP_THREAD) ? "THREADS" : "CPUS";
	const char *second = sh->tagged ? "PROCESS/DEVICE" : NULL;

	if (sh->is_rows)
		gpubpf_rows_headings(&sh->rows, second, &sh->table);
	else if (map->global_data)
		gpubpf_table_init(&sh->table, "VARIABLE", "VALUE", NULL);
	else if (copies && sh->is_int && second)
		gpubpf_table_init(&sh->table, "KEY", second, "SUM", copy, "MIN", "MAX", "MEAN", "MAX/MEAN", NULL);
	else if (copies && sh->is_int)
		gpubpf_table_init(&sh->table, "KEY", "SUM", copy, "MIN", "MAX", "MEAN", "MAX/MEAN", NULL);
	else if (copies && second)
		gpubpf_table_init(&sh->table, "KEY", second, "COPY", "VALUE", NULL);
	else if (copies)
		gpubpf_table_init(&sh->table, "KEY", "COPY", "VALUE", NULL);
	else if (!map->key_size && second)
		gpubpf_table_init(&sh->table, second, "VALUE", NULL);
	else if (!map->key_size)
		gpubpf_table_init(&sh->table, "VALUE", NULL);
	else if (second)
		gpubpf_table_init(&sh->table, "KEY", second, "VALUE", NULL);
	else
		gpubpf_table_init(&sh->table, "KEY", "VALUE", NULL);
}

static bool has_variables(const struct shown *sh)
{
	return map_of(sh)->global_data && sh->btf && map_of(sh)->btf_value;
}

/* Returns the function that adds an entry to the table or to a histogram; NULL: entries of this map are not shown. */
static gpubpf_entry_fn select_entry_fn(const struct shown *sh)
{
	if (has_variables(sh))
		return show_variables;
	if (sh->is_hist)
		return add_slot;
	if (sh->is_rows)
		return add_row;
	if (sh->hists.only)
		return NULL;
	return (map_of(sh)->type->flags & GPUBPF_MAP_COPIES) ? show_copies : show_entry;
}

static void show_title(const struct shown *sh)
{
	const struct gpubpf_map *map = map_of(sh);
	uint64_t drops = gpubpf_map__drops(map);

	fprintf(sh->out, "%s (%s", map->name, map->type->name);
	if (map->type->flags & GPUBPF_MAP_RING)
		fprintf(sh->out, ", %llu records", (unsigned long long)gpubpf_map_records(sh->s, sh->map));
	else if (!map->global_data)
		fprintf(sh->out, ", room for %u", map->max_entries);
	if (drops)
		fprintf(sh->out, ", %llu dropped", (unsigned long long)drops);
	fprintf(sh->out, ")\n");
}

static const char *format_size(uint64_t bytes, char buf[32])
{
	static const char *const unit[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	double n = bytes;
	int i = 0;

	for (; n >= 1024 && i < 4; i++)
		n /= 1024;
	snprintf(buf, 32, i ? "%.1f %s" : "%.0f %s", n, unit[i]);
	return buf;
}

/* Show the sizes of keys and values, and how many entries of the map are used. */
static void show_sizes(const struct shown *sh)
{
	const struct gpubpf_map *map = map_of(sh);
	int64_t used = gpubpf_entries_count(sh->s, sh->map);

	if (map->key_size)
		fprintf(sh->out, "  key %u bytes, ", map->key_size);
	else
		fprintf(sh->out, "  no key, ");
	if (map->type->flags & GPUBPF_MAP_RING)
		fprintf(sh->out, "room for %u bytes of records\n", map->max_entries);
	else if (used < 0)
		fprintf(sh->out, "value %u bytes, at most %u entries\n", map->value_size, map->max_entries);
	else
		fprintf(sh->out, "value %u bytes, %lld of %u entries %s\n", map->value_size, (long long)used,
			map->max_entries, gpubpf_map_omits_zeros(map) ? "not zero" : "used");
}

/* Show, for each device, the kind of memory that the map is in, and the number of its bytes there. */
static void show_places(const struct shown *sh)
{
	struct gpubpf_map_memory p;
	char text[32];

	for (uint32_t at = 0; gpubpf_map_memory_next(sh->s, sh->map, &at, &p);)
		fprintf(sh->out, "  %s in %s memory of %s%s\n", format_size(p.bytes, text),
			gpubpf_placement_name(p.where), p.device, p.live ? ", seen by host and kernels at once" : "");
}

/* Show the memory of all maps, for each device. */
static void show_memory(struct gpubpf_session *s, FILE *out)
{
	struct gpubpf_memory_used used;
	char text[32];

	for (uint32_t at = 0; gpubpf_memory_used_next(s, &at, &used);) {
		fprintf(out, "memory of %s: %s", used.device, format_size(used.arena, text));
		for (uint32_t i = 0; i < GPUBPF_PLACEMENTS; i++)
			if (used.bytes[i])
				fprintf(out, ", %s of maps in %s memory", format_size(used.bytes[i], text),
					gpubpf_placement_name(i));
		fprintf(out, "\n");
	}
}

static uint32_t count_used_mirrors(const struct gpubpf_session *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < gpubpf_arenas_count(s); i++)
		n += gpubpf_arena_at(s, i)->used;
	return n;
}

/* Show the bar charts of the map below its table. */
static int show_bars(struct shown *sh)
{
	static const struct gpubpf_hist_shape threads = { .n = 64, .width = 8 };
	const struct gpubpf_map *map = map_of(sh);

	if (sh->is_hist)
		gpubpf_hist_print(&sh->shape, sh->slot, sh->out);
	if (gpubpf_table_rows(&sh->table) && (map->type->flags & GPUBPF_MAP_THREAD) && sh->is_int) {
		fprintf(sh->out, "  values by thread:\n");
		gpubpf_hist_print(&threads, sh->slot, sh->out);
	}
	if (has_variables(sh))
		return gpubpf_entries_walk(sh->s, sh->map, draw_variables, sh);
	return sh->hists.n ? gpubpf_entries_walk(sh->s, sh->map, draw_hists, sh) : 0;
}

/* Show a stack with one frame per line, the innermost frame first. */
static int show_stack(void *arg, const struct gpubpf_entry *entry)
{
	struct shown *sh = arg;
	const struct gpubpf_stack *stack = gpubpf_stack_by_key(map_of(sh), entry->key);
	uint32_t id;

	if (sh->entries++ >= sh->limit) {
		sh->omitted++;
		return 0;
	}
	memcpy(&id, entry->key, sizeof(id));
	fprintf(sh->out, "  stack %u%s\n", id, stack ? "" : ": not known");
	for (uint32_t i = 0; stack && i < stack->n; i++) {
		gpubpf_stack_frame(sh->s, stack, i, true, value_text, sizeof(value_text));
		fprintf(sh->out, "      %s\n", value_text);
	}
	return 0;
}

static int show_entries(struct shown *sh)
{
	gpubpf_entry_fn rows = map_of(sh)->type->flags & GPUBPF_MAP_STACKS ? show_stack : select_entry_fn(sh);
	int err = rows ? gpubpf_entries_walk(sh->s, sh->map, rows, sh) : 0;

	if (sh->is_rows && !err)
		put_rows(sh);
	if (gpubpf_table_rows(&sh->table))
		gpubpf_table_print(&sh->table, sh->out);
	if (map_of(sh)->launch_times)
		gpubpf_launch_times_text(sh->s, sh->out);
	if (sh->is_rows && sh->entries && gpubpf_rows_has_times(&sh->rows))
		gpubpf_launch_factor_text(sh->s, map_of(sh)->launch_times, sh->out);
	if (!err)
		err = show_bars(sh);
	if (!sh->entries && !sh->drawn && !sh->is_hist && !gpubpf_map_is_not_iterable(map_of(sh)))
		fprintf(sh->out, "  (empty)\n");
	if (sh->omitted)
		fprintf(sh->out,
			"  ... and %llu more (to see all, use gpubpf run -j, or gpubpf map dump while the "
			"application runs)\n",
			(unsigned long long)sh->omitted);
	return err;
}

static int show_map(struct gpubpf_session *s, uint32_t index, FILE *out, const struct gpubpf_report_opts *opts)
{
	const struct gpubpf_map *map = &gpubpf_session_unit(s)->maps[index];
	bool copies = map->type->flags & GPUBPF_MAP_COPIES;
	struct shown sh = {
		.s = s,
		.map = index,
		.out = out,
		.btf = gpubpf_map_btf(s, index),
		.names = gpubpf_session_names(s, opts),
		.limit = opts->maps_only ? UINT64_MAX : MAX_ROWS,
		.skip_zeros = gpubpf_map_omits_zeros(map),
		.tagged = count_used_mirrors(s) > 1 && (copies || !gpubpf_map_is_merged(s, index)),
		.slot = calloc(GPUBPF_HIST_SLOTS, sizeof(*sh.slot)),
	};
	int err = 0;

	if (!sh.slot)
		return -ENOMEM;
	sh.is_int = !gpubpf_map_holds_objects(map) &&
		    gpubpf_btf_is_int(sh.btf, map->btf_value, map->value_size, &sh.is_signed) &&
		    !gpubpf_btf_has_meaning(sh.btf, map->btf_value);
	sh.is_ns = gpubpf_typed_is(sh.btf, map->btf_value, "gpubpf_ns");
	sh.is_rows = gpubpf_rows_init(&sh.rows, sh.btf, map);
	sh.is_hist = gpubpf_hist_map(s, index, &sh.shape);
	gpubpf_map_hists(s, index, &sh.hists);
	show_title(&sh);
	add_headings(&sh);
	if (opts->no_entries) {
		show_sizes(&sh);
		show_places(&sh);
	} else {
		err = show_entries(&sh);
	}
	gpubpf_table_finish(&sh.table);
	gpubpf_rows_finish(&sh.rows);
	free(sh.slot);
	return err;
}

int gpubpf_text_maps(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);
	int err = 0;

	for (uint32_t i = 0; i < unit->nmaps && !err; i++) {
		const struct gpubpf_map *map = &unit->maps[i];

		if (gpubpf_report_includes_map(opts, map) && (!map->rdonly || opts->maps_only))
			err = show_map(s, i, out, opts);
	}
	if (!err && opts->no_entries)
		show_memory(s, out);
	return err;
}
