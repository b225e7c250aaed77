/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates random programs that the verifier accepts. A program writes registers and stack before it reads them,
 * bounds its loops, and compares results of look-ups with NULL. Its computations are otherwise arbitrary.
 */
#ifndef GPUBPF_CLI_CONFORMANCE_RANDOM_GEN_H
#define GPUBPF_CLI_CONFORMANCE_RANDOM_GEN_H

#include <stdint.h>

#include "core/model/insn.h"
#include "core/model/prog.h"

#define GEN_INSNS 2048

/* indices of the maps that gen_maps() defines */
enum {
	GEN_ARRAY,
	GEN_HASH,
	GEN_DATA,
	GEN_RING,
	GEN_PERF,
	GEN_PERCPU,
	GEN_COUNTER,
	GEN_THREAD,
	GEN_GPURING,
	GEN_TEXT,
	GEN_QUEUE,
	GEN_STACK,
	GEN_PERCPU_HASH,
	GEN_LRU,
	GEN_SMALL,
	GEN_BLOOM,
	GEN_PREFIXES,
	GEN_PROGS, /* map of programs; contains the parts of this program, in order */
	GEN_OUTER_ARRAY,
	GEN_OUTER_HASH, /* GEN_OUTER_*: maps of maps */
	GEN_INNER_HASH,
	GEN_INNER_HASH2,
	GEN_INNER_ARRAY,
	GEN_INNER_ARRAY2, /* GEN_INNER_*: elements of the maps of maps */
	GEN_LIKE_HASH,
	GEN_LIKE_ARRAY, /* GEN_LIKE_*: prototypes of the inner maps */
	GEN_LONG_HASH,
	GEN_ODD_ARRAY,
	GEN_LARGE_HASH,
	GEN_WIDE_HASH,
	GEN_GPU_ARRAY, /* from GEN_LONG_HASH on: maps with unusual sizes of keys and values */
	GEN_LRU_PERCPU,
	GEN_ARMS, /* requests of armed launches (include/gpubpf/arm.h) */
	GEN_NMAPS
};

#define GEN_ARRAY_ENTRIES 4u
#define GEN_VALUE 64u  /* size in bytes of the values of GEN_ARRAY, GEN_HASH and other maps */
#define GEN_DATA_VALUE 96u
/*
 * Size in bytes of the values of GEN_LARGE_HASH. Updates store values of this size directly from the program's memory,
 * without a temporary copy (core/lower/lower.h).
 */
#define GEN_LARGE_VALUE 72
#define GEN_MAX_VALUE_BYTES GEN_DATA_VALUE
#define GEN_LONG_VALUE 20 /* size in bytes of the values of GEN_LONG_HASH; its keys have GEN_MAX_KEY_BYTES */
#define GEN_DATA_BYTES 64 /* size of the data of a thread in GEN_DIRECT; the data of thread 0 is first */
#define GEN_ODD_VALUE 12 /* size in bytes of the values of GEN_ODD_ARRAY */
#define GEN_MAX_KEY_BYTES 12
#define GEN_KEYS 8u    /* number of different keys for GEN_HASH, which has only six entries */
/*
 * Size in bytes of rings, more than any program outputs. If rings could become full, devices whose records need more
 * headers would drop records earlier than others. Reserved records have the same size on all devices, so the small ring
 * for reserved records may become full.
 */
#define GEN_ROOM 16384u
#define GEN_PARTS 3u   /* maximum number of parts of a program; parts tail-call each other */
#define GEN_SLOTS 4u   /* number of slots in the map of programs */
#define GEN_INNER_ENTRIES 3u

/* maps.c: fills maps[]. The maps point to static data. */
void gen_maps(struct gpubpf_map maps[GEN_NMAPS]);

struct gen_rng {
	uint64_t state;
};
uint64_t gen_random(struct gen_rng *rng);

enum gen_kind {
	GEN_ALL,    /* use all maps and helpers */
	GEN_KERNEL, /* use only maps and helpers that the Linux kernel has too and that give equal results there */
	GEN_PLAIN,  /* use only arithmetic, branches, loops, calls and memory, which are quick to compile */
	GEN_DIRECT, /* like GEN_PLAIN, but with the data of a direct run instead of maps and values of the context */
	GEN_NKINDS,
};

/*
 * Generate a program and the parts that it may tail-call. Returns the total number of instructions. begin[i] becomes
 * the index of part i's first instruction; begin[0] is 0. If part i does not exist, begin[i] is 0 too.
 */
uint32_t gen_program(struct gen_rng *rng, enum gen_kind kind, struct gpubpf_raw_insn out[GEN_INSNS],
		     uint32_t begin[GEN_PARTS]);

#endif
