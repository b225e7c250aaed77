/* SPDX-License-Identifier: Apache-2.0 */
/* Initialises an arena: writes its header, the layouts of the maps and their initial values. */
#include "impl.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "core/wire/unix_time.h"
#include "gpubpf/allocation.h"

_Static_assert(sizeof(struct gpubpf_arena_hdr) == GPUBPF_ARENA_RNG, "the header ends where the counters begin");
_Static_assert(offsetof(struct gpubpf_arena_hdr, version) == GPUBPF_ARENA_IS_VERSION,
	       "must equal the offset that devices use");
_Static_assert(offsetof(struct gpubpf_arena_hdr, replicas) == GPUBPF_ARENA_REPLICAS,
	       "must equal the offset that devices use");
_Static_assert(offsetof(struct gpubpf_arena_hdr, clock_cycles) == GPUBPF_ARENA_CLOCK,
	       "must equal the offset that devices use");
_Static_assert(offsetof(struct gpubpf_arena_hdr, thread_drops) == GPUBPF_ARENA_THREAD_DROPS,
	       "must equal the offset that devices use");
_Static_assert(offsetof(struct gpubpf_arena_hdr, allocations) == GPUBPF_ARENA_ALLOCATIONS,
	       "must equal the offset that devices use");
_Static_assert(offsetof(struct gpubpf_arena_hdr, allocation_tables) == GPUBPF_ARENA_ALLOCATION_TABLES,
	       "must equal the offset that devices use");
_Static_assert(offsetof(struct gpubpf_arena_hdr, granules) == GPUBPF_ARENA_GRANULES,
	       "must equal the offset that devices use");
_Static_assert(offsetof(struct gpubpf_arena_hdr, unix_ns) == GPUBPF_ARENA_UNIX, "must equal the offset that devices use");
_Static_assert(offsetof(struct gpubpf_allocation_head, version) == GPUBPF_ALLOCATION_VERSION,
	       "must equal the offset that devices use");
_Static_assert(offsetof(struct gpubpf_allocation_head, rows) == GPUBPF_ALLOCATION_COUNTS,
	       "must equal the offset that devices use");
_Static_assert(sizeof(struct gpubpf_allocation_head) == GPUBPF_ALLOCATION_ROWS, "the rows follow the head");
_Static_assert(sizeof(struct gpubpf_allocation) == GPUBPF_ALLOCATION_ROW, "helper 523 copies a row");
_Static_assert(sizeof(struct gpubpf_map_layout) == 64, "layouts are hashed as bytes, so they have no padding");
_Static_assert(GPUBPF_ARENA_ROWS == GPUBPF_MAX_MAPS + 1, "a row for each map of a unit, and one for the print ring");
_Static_assert(sizeof(struct gpubpf_map_ctl) == 128 && sizeof(struct gpubpf_ring_copy) == 128,
	       "must have the size of a cache line");

/* Set the counters of helper 7 to random numbers, or to the current time if getrandom() fails. */
static void seed_counters(char *arena)
{
	uint64_t seeds[GPUBPF_ARENA_RNG_COPIES];
	struct timespec now;
	uint32_t i;

	if (getrandom(seeds, sizeof(seeds), GRND_NONBLOCK) != (ssize_t)sizeof(seeds)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		for (i = 0; i < GPUBPF_ARENA_RNG_COPIES; i++)
			seeds[i] = ((uint64_t)now.tv_nsec << 32 | i) * 0x9e3779b97f4a7c15ull;
	}
	for (i = 0; i < GPUBPF_ARENA_RNG_COPIES; i++)
		memcpy(arena + GPUBPF_ARENA_RNG + i * GPUBPF_REPLICA_ALIGN, &seeds[i], sizeof(seeds[i]));
}

/*
 * Add maps to an arena that other processes read. The order of the stores matters. A process that reads the new value
 * of a header word also reads the data that was stored before.
 */
void gpubpf_arena_extend(void *arena, const struct gpubpf_unit *unit, const struct gpubpf_layout *layout, uint32_t first)
{
	struct gpubpf_arena_hdr *hdr = arena;
	struct gpubpf_map_layout *rows = (void *)((char *)arena + GPUBPF_ARENA_MAPS);
	uint32_t i;

	for (i = first; i < layout->nmaps; i++) {
		rows[i] = layout->maps[i];
		if (unit->maps[i].init || unit->maps[i].nelements)
			unit->maps[i].type->impl->init(arena, &unit->maps[i], &layout->maps[i]);
	}
	rows[GPUBPF_ARENA_ROWS - 1] = layout->prints;
	hdr->layout_hash = layout->hash;
	hdr->allocations = layout->allocations;
	hdr->granules = gpubpf_layout_granules(layout);
	__atomic_store_n(&hdr->allocation_tables, layout->allocation_tables, __ATOMIC_RELEASE);
	__atomic_store_n(&hdr->print_ring, layout->print_ring, __ATOMIC_RELEASE);
	__atomic_store_n(&hdr->nmaps, layout->nmaps, __ATOMIC_RELEASE);
}

void gpubpf_arena_publish(void *arena, const struct gpubpf_layout *layout)
{
	struct gpubpf_arena_hdr *hdr = arena;

	__atomic_store_n(&hdr->given, layout->nmaps, __ATOMIC_RELEASE);
	__atomic_store_n(&hdr->used, layout->used, __ATOMIC_RELEASE);
}

void gpubpf_arena_init(void *arena, const struct gpubpf_unit *unit, const struct gpubpf_layout *layout)
{
	struct gpubpf_arena_hdr *hdr = arena;

	*hdr = (struct gpubpf_arena_hdr){
		.magic = GPUBPF_ARENA_MAGIC,
		.version = GPUBPF_ARENA_VERSION,
		.size = layout->size,
		.own = layout->own,
		.maps_off = GPUBPF_ARENA_MAPS,
		.base = (uintptr_t)arena,
		.replicas = layout->replicas,
		.threads = layout->threads,
		.unix_ns = gpubpf_unix_offset_ns(),
	};
	seed_counters(arena);
	gpubpf_arena_extend(arena, unit, layout, 0);
	gpubpf_arena_publish(arena, layout);
}
