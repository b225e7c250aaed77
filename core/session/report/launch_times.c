/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the times of launches that runtimes measured (struct gpubpf_launch_times) to the maps for such times
 * (GPUBPF_LAUNCH_TIMES). Readers of these maps then see the same values as if programs had measured the launches.
 */
#include "launch_times.h"
#include "private.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/base/kernel_names.h"
#include "core/session/base/unit.h"
#include "core/session/report/kernel_table.h"

/* bytes of the members that correspond to struct gpubpf_times */
#define TIMES_SIZE offsetof(struct gpubpf_launch_times, expected)
#define NAME_SIZE sizeof(((struct gpubpf_kernel_row *)0)->name)

static bool receives_times(const struct gpubpf_map *map)
{
	return map->launch_times && map->key_size == sizeof(uint32_t) && !(map->value_size % 8) &&
	       map->value_size >= TIMES_SIZE && map->type->flags & GPUBPF_MAP_U32KEY;
}

static bool has_map(const struct gpubpf_session *s)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);
	bool has = false;

	for (uint32_t i = 0; unit && i < unit->nmaps; i++)
		has |= receives_times(&unit->maps[i]);
	return has;
}

/* Launches have no rows on devices whose runtime measures them. Programs of host/kernel get the times. */
static bool replaces_rows(const struct gpubpf_map *map)
{
	return map->launch_times && map->type->ops & GPUBPF_OP_BIT(GPUBPF_OP_LAUNCH_MARK);
}

bool gpubpf_launch_times_only(const struct gpubpf_session *s, const struct gpubpf_prog *prog)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);
	bool receives = false;

	if (!prog->facts || prog->facts->prints || prog->facts->ends_thread)
		return false;
	for (uint32_t i = 0; i < unit->nmaps; i++) {
		const struct gpubpf_map *map = &unit->maps[i];
		bool times = receives_times(map) || replaces_rows(map);

		if (prog->facts->map_use[i] && !map->rdonly && !times && !map->scratch)
			return false;
		receives |= times && map->object == prog->object;
	}
	return receives;
}

/* Returns the times of row i that the maps already have, or NULL if out of memory. */
static struct gpubpf_launch_times *added_of(struct session_report *r, uint32_t i)
{
	if (!r->added)
		r->added = calloc(GPUBPF_KERNEL_TABLE_ROWS, sizeof(*r->added));
	if (r->added && !r->added[i])
		r->added[i] = calloc(1, sizeof(*r->added[i]));
	return r->added ? r->added[i] : NULL;
}

static void add_word(const struct gpubpf_session *s, uint32_t kernel, size_t offset, uint64_t n)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);

	for (uint32_t i = 0; n && i < unit->nmaps; i++)
		if (receives_times(&unit->maps[i]))
			gpubpf_map__add(&unit->maps[i], &kernel, sizeof(kernel), offset, sizeof(n), n);
}

/* Add the words that have changed since the last call. */
static void add_row(struct gpubpf_session *s, uint32_t i, struct gpubpf_launch_times *added)
{
	const uint64_t *now = (const uint64_t *)&s->report->table->times[i];
	uint64_t *before = (uint64_t *)added;
	char name[NAME_SIZE];
	uint32_t kernel;

	memcpy(name, s->report->table->kernel[i].name, sizeof(name));
	name[sizeof(name) - 1] = 0;
	kernel = gpubpf_kernel_id(s, name);
	for (size_t w = 0; kernel != UINT32_MAX && w < TIMES_SIZE / sizeof(*now); w++) {
		uint64_t value = __atomic_load_n(&now[w], __ATOMIC_RELAXED);

		add_word(s, kernel, w * sizeof(*now), value - before[w]);
		before[w] = value;
	}
}

void gpubpf_launch_times_add(struct gpubpf_session *s)
{
	struct gpubpf_kernel_table *t = s->report->table;
	uint32_t n = t && has_map(s) ? gpubpf_kernel_table_rows(s) : 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t count = 0;
		struct gpubpf_launch_times *added;

		if (__atomic_load_n(&t->kernel[i].used, __ATOMIC_ACQUIRE) == 2)
			count = __atomic_load_n(&t->times[i].count, __ATOMIC_ACQUIRE);
		added = count ? added_of(s->report, i) : NULL;
		if (added && added->count != count)
			add_row(s, i, added);
	}
}

uint64_t gpubpf_launch_times_count(const struct gpubpf_session *s, uint64_t *lost)
{
	const struct gpubpf_kernel_table *t = s->report->table;
	uint32_t n = t ? gpubpf_kernel_table_rows(s) : 0;
	uint64_t all = 0;

	*lost = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t count = __atomic_load_n(&t->times[i].count, __ATOMIC_ACQUIRE);
		uint64_t expected = __atomic_load_n(&t->times[i].expected, __ATOMIC_RELAXED);

		all += count;
		*lost += expected > count ? expected - count : 0;
	}
	return all;
}

void gpubpf_launch_times_destroy(struct session_report *r)
{
	for (uint32_t i = 0; r->added && i < GPUBPF_KERNEL_TABLE_ROWS; i++)
		free(r->added[i]);
	free(r->added);
}
