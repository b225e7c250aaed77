/* SPDX-License-Identifier: Apache-2.0 */
/* A unit of maps and an arena for it, for the tests of this folder. */
#ifndef GPUBPF_TESTS_MAPS_FIXTURE_H
#define GPUBPF_TESTS_MAPS_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "core/diag.h"
#include "core/facts.h"
#include "core/prog.h"
#include "maps/host.h"
#include "maps/maps.h"

#define FIXTURE_MAPS 12

struct fixture {
	struct gpubpf_map maps[FIXTURE_MAPS];
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

/* 0 when the layout could be made and the arena is ready */
__attribute__((unused))
static int fixture_ready(struct fixture *f)
{
	struct gpubpf_diag diag;
	uint32_t i;
	int err;

	gpubpf_diag_init(&diag);
	err = gpubpf_layout_compute(&f->unit, &f->opts, &f->layout, &diag);
	if (err < 0) {
		printf("# %s: %s\n", diag.where, diag.what);
		return err;
	}
	f->arena = mmap(NULL, f->layout.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (f->arena == MAP_FAILED)
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
	gpubpf_layout_finish(&f->layout);
}

/* xorshift64*: the same numbers for the same seed on every machine */
__attribute__((unused))
static uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

/* $GPUBPF_TEST_SEED, else the time; printed, so that a failure can be repeated */
__attribute__((unused))
static uint64_t random_seed(void)
{
	const char *text = getenv("GPUBPF_TEST_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL) * 2654435761u;

	printf("# GPUBPF_TEST_SEED=%llu\n", (unsigned long long)seed);
	return seed | 1;
}

#endif
