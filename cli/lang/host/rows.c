/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads maps as rows. Combines the values that several devices have for a key, and subtracts what clear() removed. A
 * clear() does not change a sum in the map, because kernels may add concurrently and devices may have separate memory.
 * Instead the host remembers the sum at the time of clear().
 */
#include <stdlib.h>
#include <string.h>

#include "core/session/maps/entries.h"
#include "gpubpf/gpubpf.h"
#include "host.h"
#include "maps/maps.h"

static uint64_t word(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static void put_word(uint8_t *at, uint64_t v)
{
	memcpy(at, &v, sizeof(v));
}

static bool is_extreme(const struct lang_map *map)
{
	return map->holds && (map->holds->id == LANG_F_MIN || map->holds->id == LANG_F_MAX);
}

/* Returns true if each 8-byte word of the value is a sum. */
static bool is_sum(const struct lang_map *map)
{
	return map->holds && !is_extreme(map);
}

static size_t row_size(const struct lang_map *map)
{
	return ((map->key_size + 7) & ~7u) + map->value_size;
}

static bool grow(struct lang_rows *rows)
{
	uint32_t room = rows->room ? rows->room * 2 : 64;
	size_t size = row_size(rows->map);
	struct lang_row *row = realloc(rows->row, room * sizeof(*row));
	uint8_t *bytes = NULL;

	if (row) {
		rows->row = row;
		bytes = realloc(rows->bytes, room * size);
	}
	if (!bytes)
		return false;
	rows->bytes = bytes;
	rows->room = room;
	for (uint32_t i = 0; i < rows->n; i++) {
		row[i].key = bytes + i * size;
		row[i].value = row[i].key + size - rows->map->value_size;
	}
	return true;
}

static int add(void *arg, const struct gpubpf_entry *entry)
{
	struct lang_rows *rows = arg;
	size_t size = row_size(rows->map);
	struct lang_row *row;

	/*
	 * An array does not record whether its element was ever set. Print a number even if it is 0, but not an empty
	 * aggregation.
	 */
	if (lang_map_is_array(rows->map) && rows->map->value_size > 8 && gpubpf_entry_is_zero(entry))
		return 0;
	if (rows->n == rows->room && !grow(rows)) {
		rows->failed = true;
		return -1;
	}
	row = &rows->row[rows->n];
	*row = (struct lang_row){ .key = rows->bytes + rows->n * size, .arena = entry->arena };
	row->value = row->key + size - rows->map->value_size;
	memcpy(row->key, entry->key, rows->map->key_size);
	memcpy(row->value, entry->value, rows->map->value_size);
	rows->n++;
	return 0;
}

static int by_key(const void *a, const void *b, void *arg)
{
	const struct lang_map *map = arg;

	return memcmp(((const struct lang_row *)a)->key, ((const struct lang_row *)b)->key, map->key_size);
}

static bool is_more_extreme(const struct lang_map *map, uint64_t a, uint64_t b)
{
	bool less = map->value.is_signed ? (int64_t)a < (int64_t)b : a < b;

	return map->holds->id == LANG_F_MIN ? less : !less && a != b;
}

static void combine_values(const struct lang_map *map, uint8_t *to, const uint8_t *from)
{
	if (is_extreme(map)) {
		if (is_more_extreme(map, word(from), word(to)))
			put_word(to, word(from));
		put_word(to + 8, word(to + 8) + word(from + 8));
		return;
	}
	for (uint32_t i = 0; i < map->value_size; i += 8)
		put_word(to + i, word(to + i) + word(from + i));
}

/*
 * Combine the rows of each key from several arenas. Assigned numbers stay in separate rows, because it is not known
 * which arena's assignment was the last.
 */
static void merge(struct lang_rows *rows)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < rows->n; i++) {
		bool same = n && !memcmp(rows->row[n - 1].key, rows->row[i].key, rows->map->key_size);

		if (same && rows->map->holds) {
			combine_values(rows->map, rows->row[n - 1].value, rows->row[i].value);
			rows->row[n - 1].arena = -1;
		} else {
			rows->row[n++] = rows->row[i];
		}
	}
	rows->n = n;
}

struct lang_row *lang_rows_find(const struct lang_rows *rows, const uint8_t *key)
{
	struct lang_row wanted = { .key = (uint8_t *)key };
	uint32_t low = 0, high = rows->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = by_key(&rows->row[middle], &wanted, (void *)rows->map);

		if (!order)
			return &rows->row[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static bool is_zero(const struct lang_map *map, const uint8_t *value)
{
	for (uint32_t i = 0; i < map->value_size; i++)
		if (value[i])
			return false;
	return true;
}

/* Subtract the cleared values, and remove rows whose values become 0. */
static void subtract(const struct lang_host *h, struct lang_rows *rows)
{
	const struct lang_rows *before = &h->cleared[rows->map->index];
	uint32_t n = 0;

	for (uint32_t i = 0; i < rows->n; i++) {
		const struct lang_row *was = before->n ? lang_rows_find(before, rows->row[i].key) : NULL;

		for (uint32_t at = 0; was && at < rows->map->value_size; at += 8)
			put_word(rows->row[i].value + at, word(rows->row[i].value + at) - word(was->value + at));
		if (!was || h->keeps_zeros[rows->map->index] || !is_zero(rows->map, rows->row[i].value))
			rows->row[n++] = rows->row[i];
	}
	rows->n = n;
}

static uint32_t unit_index(const struct lang_host *h, const struct lang_map *map)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(h->s);

	for (uint32_t i = 0; i < unit->nmaps; i++)
		if (!strcmp(unit->maps[i].name, map->object_name) && unit->maps[i].value_size == map->value_size)
			return i;
	return UINT32_MAX;
}

static int read_map(struct lang_host *h, const struct lang_map *map, struct lang_rows *rows)
{
	uint32_t index = unit_index(h, map);

	*rows = (struct lang_rows){ .map = map };
	if (index == UINT32_MAX)
		return 0;
	if (gpubpf_entries_walk(h->s, index, add, rows) < 0 || rows->failed)
		return -1;
	if (rows->n)
		qsort_r(rows->row, rows->n, sizeof(*rows->row), by_key, (void *)map);
	merge(rows);
	return 0;
}

static int copy(const struct lang_rows *from, struct lang_rows *to)
{
	size_t size = row_size(from->map);

	*to = (struct lang_rows){ .map = from->map };
	for (uint32_t i = 0; i < from->n; i++) {
		if (to->n == to->room && !grow(to))
			return -1;
		to->row[i] = (struct lang_row){ .key = to->bytes + i * size, .arena = from->row[i].arena };
		to->row[i].value = to->row[i].key + size - to->map->value_size;
		memcpy(to->row[i].key, from->row[i].key, to->map->key_size);
		memcpy(to->row[i].value, from->row[i].value, to->map->value_size);
		to->n++;
	}
	return 0;
}

/*
 * Read the map once per block or round of records. So clear() removes exactly the values that print() has printed
 * before.
 */
static int read_raw(struct lang_host *h, const struct lang_map *map, struct lang_rows *rows)
{
	struct lang_rows *seen = &h->seen[map->index];

	if (!seen->map && read_map(h, map, seen) < 0) {
		lang_rows_finish(seen);
		*rows = (struct lang_rows){ .map = map };
		return -1;
	}
	return copy(seen, rows);
}

void lang_rows_forget(struct lang_host *h, const struct lang_map *map)
{
	lang_rows_finish(&h->seen[map->index]);
}

void lang_rows_invalidate(struct lang_host *h)
{
	for (uint32_t i = 0; i < LANG_MAPS; i++)
		lang_rows_finish(&h->seen[i]);
}

int lang_rows_read(struct lang_host *h, const struct lang_map *map, struct lang_rows *rows)
{
	int err = read_raw(h, map, rows);

	if (!err && is_sum(map))
		subtract(h, rows);
	return err;
}

void lang_rows_finish(struct lang_rows *rows)
{
	free(rows->row);
	free(rows->bytes);
	*rows = (struct lang_rows){ 0 };
}

const struct gpubpf_map *lang_map_target(const struct lang_host *h, const struct lang_map *map)
{
	uint32_t index = unit_index(h, map);

	return index == UINT32_MAX ? NULL : &gpubpf_session_unit(h->s)->maps[index];
}

uint64_t lang_rows_count(struct lang_host *h, const struct lang_map *map)
{
	struct lang_rows rows;
	uint64_t n = lang_rows_read(h, map, &rows) < 0 ? 0 : rows.n;

	lang_rows_finish(&rows);
	return n;
}

/* Copy a row to h->row, because the caller frees `rows`. */
static bool keep_row(struct lang_host *h, const struct lang_rows *rows, const uint8_t *key)
{
	const struct lang_row *found = lang_rows_find(rows, key);

	if (found)
		memcpy(h->value, found->value, rows->map->value_size);
	return found;
}

/* Read one element from the map itself, if only one arena has it and no value of it was cleared. */
static bool read_element(struct lang_host *h, const struct lang_map *map, const uint8_t *key)
{
	const struct gpubpf_map *target = lang_map_target(h, map);

	return target && !gpubpf_map__lookup_elem(target, key, map->key_size, h->value, map->value_size, 0);
}

bool lang_row_read(struct lang_host *h, const struct lang_map *map, const uint8_t *key, struct lang_row *row)
{
	bool is_plain = !h->seen[map->index].map && !h->cleared[map->index].n && gpubpf_arenas_count(h->s) == 1;
	struct lang_rows rows;
	bool found;

	*row = (struct lang_row){ .value = (uint8_t *)h->value };
	if (is_plain)
		return read_element(h, map, key);
	found = !lang_rows_read(h, map, &rows) && keep_row(h, &rows, key);
	lang_rows_finish(&rows);
	return found;
}

void lang_row_forget_cleared(struct lang_host *h, const struct lang_map *map, const uint8_t *key)
{
	struct lang_row *was = h->cleared[map->index].n ? lang_rows_find(&h->cleared[map->index], key) : NULL;

	if (was)
		memset(was->value, 0, map->value_size);
}

uint64_t lang_row_number(const struct lang_map *map, const struct lang_row *row)
{
	uint64_t v = word(row->value), n = 0;

	if (map->holds && (map->holds->id == LANG_F_AVG || map->holds->id == LANG_F_STATS)) {
		uint64_t total = word(row->value + 8);

		return lang_operate(LANG_T_DIV, total, v, map->value.is_signed);
	}
	if (!map->holds || (map->holds->id != LANG_F_HIST && map->holds->id != LANG_F_LHIST))
		return v;
	for (uint32_t i = 0; i < map->value_size; i += 8)
		n += word(row->value + i);
	return n;
}

/* Remove or zero assigned values in the map itself. This is possible only in memory that host and device share. */
static void clear_set(struct lang_host *h, const struct lang_map *map, bool zero)
{
	struct gpubpf_map_view view = gpubpf_arena_view(h->s, 0, unit_index(h, map));
	uint8_t *value = calloc(1, map->value_size);
	struct lang_rows rows;

	if (value && !read_raw(h, map, &rows)) {
		for (uint32_t i = 0; i < rows.n; i++)
			if (zero || lang_map_is_array(map))
				gpubpf_map_update(&view, rows.row[i].key, value, 0);
			else
				gpubpf_map_delete(&view, rows.row[i].key);
		lang_rows_finish(&rows);
		lang_rows_finish(&h->seen[map->index]);
	}
	free(value);
	for (uint32_t i = 0; i < gpubpf_arenas_count(h->s); i++)
		if (gpubpf_arena_at(h->s, i)->used && !gpubpf_arena_at(h->s, i)->shared)
			gpubpf_session_note(h->s,
					    "%s is not cleared on all devices: in a device's own memory, only sums, "
					    "counts and histograms can be cleared",
					    map->name);
}

void lang_host_clear(struct lang_host *h, const struct lang_map *map, bool zero)
{
	struct lang_rows rows;

	if (unit_index(h, map) == UINT32_MAX)
		return;
	if (!is_sum(map)) {
		clear_set(h, map, zero);
		return;
	}
	if (read_raw(h, map, &rows) < 0)
		return;
	lang_rows_finish(&h->cleared[map->index]);
	h->cleared[map->index] = rows;
	h->keeps_zeros[map->index] = zero;
}
