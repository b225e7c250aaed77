/* SPDX-License-Identifier: Apache-2.0 */
/* A unit of maps and its arena, for the tests of this folder. */
#ifndef GPUBPF_TESTS_MAPS_FIXTURE_H
#define GPUBPF_TESTS_MAPS_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "core/model/diag.h"
#include "core/model/facts.h"
#include "core/model/placement.h"
#include "core/model/prog.h"
#include "maps/host/host.h"
#include "maps/maps.h"

#define FIXTURE_MAPS 13

struct fixture {
	struct gpubpf_map maps[FIXTURE_MAPS];
	uint32_t places[FIXTURE_MAPS];
	void *apart[FIXTURE_MAPS];  /* memory of an external map, or NULL if the map is inside the arena */
	struct gpubpf_prog prog;
	struct gpubpf_unit unit;
	uint32_t use[FIXTURE_MAPS];
	struct gpubpf_layout_opts opts;
	struct gpubpf_layout layout;
	void *arena;
	struct gpubpf_map_view view[FIXTURE_MAPS];
	struct gpubpf_env env;
};

__attribute__((unused))
static void fixture_begin(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->unit = (struct gpubpf_unit){ .maps = f->maps, .progs = &f->prog, .nprogs = 1 };
	f->opts.map_use = f->use;
	f->opts.replicas = 1;
}

__attribute__((unused))
static uint32_t fixture_map(struct fixture *f, uint32_t type, uint32_t key_size, uint32_t value_size,
			    uint32_t max_entries, uint32_t use)
{
	uint32_t i = f->unit.nmaps++;

	f->maps[i] = (struct gpubpf_map){ .type = gpubpf_map_type_find(type), .key_size = key_size,
					  .value_size = value_size, .max_entries = max_entries };
	snprintf(f->maps[i].name, sizeof(f->maps[i].name), "map%u", i);
	f->use[i] = use;
	return i;
}

/*
 * Place every map that permits it outside the arena, as $GPUBPF_TEST_PLACE says (pinned or svm). Host and kernels see
 * each other's writes there. Returns false if such memory does not exist here.
 */
__attribute__((unused))
static bool fixture_places(struct fixture *f)
{
	const char *where = getenv("GPUBPF_TEST_PLACE");
	int place = where ? gpubpf_placement_find(where) : GPUBPF_PLACE_DEVICE;

	for (uint32_t i = 0; place > GPUBPF_PLACE_DEVICE && i < f->unit.nmaps; i++)
		if (!(f->maps[i].type->flags & (GPUBPF_MAP_RING | GPUBPF_MAP_OF_MAPS | GPUBPF_MAP_PROGS)))
			f->places[i] = GPUBPF_LAYOUT_PLACED_IN(place) | GPUBPF_LAYOUT_LIVE;
	f->opts.places = f->places;
	return place >= GPUBPF_PLACE_DEVICE;
}

/*
 * Allocate the memory of external maps. Its address is an offset from the arena, modulo 2^64 (maps/device/external.h).
 */
__attribute__((unused))
static int fixture_move(struct fixture *f)
{
	for (uint32_t i = 0; i < f->unit.nmaps; i++) {
		struct gpubpf_map_layout *l = &f->layout.maps[i];
		uint64_t data = l->data - l->ctl;

		if (!(l->flags & GPUBPF_LAYOUT_PLACED))
			continue;
		f->apart[i] = mmap(NULL, l->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (f->apart[i] == MAP_FAILED)
			return -1;
		l->ctl = (uintptr_t)f->apart[i] - (uintptr_t)f->arena;
		l->data = l->ctl + data;
	}
	return 0;
}

/* Compute the layout and initialise the arena. Returns 0 on success. */
__attribute__((unused))
static int fixture_ready(struct fixture *f)
{
	struct gpubpf_diag diag;
	uint32_t i;
	int err;

	gpubpf_diag_init(&diag);
	if (!fixture_places(f))
		return -1;
	err = gpubpf_layout_compute(&f->unit, &f->opts, &f->layout, &diag);
	if (err < 0) {
		printf("# %s: %s\n", diag.where, diag.what);
		return err;
	}
	f->arena = mmap(NULL, f->layout.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (f->arena == MAP_FAILED || fixture_move(f))
		return -1;
	gpubpf_arena_init(f->arena, &f->unit, &f->layout);
	for (i = 0; i < f->unit.nmaps; i++)
		f->view[i] = (struct gpubpf_map_view){ f->arena, &f->maps[i], &f->layout.maps[i] };
	f->env.arena = (uintptr_t)f->arena;
	return 0;
}

__attribute__((unused))
static void fixture_end(struct fixture *f)
{
	if (f->arena)
		munmap(f->arena, f->layout.size);
	for (uint32_t i = 0; i < f->unit.nmaps; i++)
		if (f->apart[i])
			munmap(f->apart[i], f->layout.maps[i].size);
	gpubpf_layout_finish(&f->layout);
}

/* The generator xorshift64*: a seed gives the same numbers on every machine. */
__attribute__((unused))
static uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

/* Returns $GPUBPF_TEST_SEED, or the time if it is unset. Prints the seed, so that a failure can be reproduced. */
__attribute__((unused))
static uint64_t random_seed(void)
{
	const char *text = getenv("GPUBPF_TEST_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL) * 2654435761u;

	printf("# GPUBPF_TEST_SEED=%llu\n", (unsigned long long)seed);
	return seed | 1;
}

#endif
