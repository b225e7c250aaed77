/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs that a verifier can accept: registers and stack are written before they are read,
 * loops are counted, looked-up values are checked for NULL. What they compute is as wild as can be.
 */
#ifndef GPUBPF_CLI_CONFORMANCE_RANDOM_GEN_H
#define GPUBPF_CLI_CONFORMANCE_RANDOM_GEN_H

#include <stdint.h>

#include "core/insn.h"
#include "core/prog.h"

#define GEN_INSNS 2048

/* the maps that programs use, in this order: gen_maps() */
enum { GEN_ARRAY, GEN_HASH, GEN_DATA, GEN_RING, GEN_PERF, GEN_PERCPU, GEN_COUNTER, GEN_THREAD, GEN_GPURING,
       GEN_TEXT, GEN_QUEUE, GEN_STACK, GEN_PERCPU_HASH, GEN_LRU, GEN_SMALL, GEN_BLOOM, GEN_PREFIXES,
       GEN_PROGS,            /* of programs: those of this one's parts that there are, in order */
       GEN_OUTER_ARRAY, GEN_OUTER_HASH, /* of maps */
       GEN_INNER_HASH, GEN_INNER_HASH2, GEN_INNER_ARRAY, GEN_INNER_ARRAY2, /* which are in them */
       GEN_LIKE_HASH, GEN_LIKE_ARRAY, /* what these are like */
       GEN_LONG_HASH, GEN_ODD_ARRAY, GEN_LARGE_HASH, GEN_WIDE_HASH, GEN_GPU_ARRAY, /* of other sizes */
       GEN_LRU_PERCPU,
       GEN_NMAPS };

#define GEN_ARRAY_ENTRIES 4u
#define GEN_VALUE 64u  /* bytes of values of ARRAY, HASH and others */
#define GEN_DATA_VALUE 96u
#define GEN_LARGE_VALUE 72 /* of LARGE_HASH: so long that it is not copied, but stored from where it lies (core/lower/lower.h) */
#define GEN_VALUE_MOST GEN_DATA_VALUE
#define GEN_LONG_VALUE 20 /* of LONG_HASH, whose keys have GEN_KEY_MOST */
#define GEN_ODD_VALUE 12 /* of ODD_ARRAY */
#define GEN_KEY_MOST 12
#define GEN_KEYS 8u    /* keys of the hash, of which it has room for six */
/* bytes of rings, more than any program puts out: a device's record may need a header where another's needs none, and
 * find no room sooner. What is reserved is one record everywhere: the small ring may be full. */
#define GEN_ROOM 16384u
#define GEN_PARTS 3u   /* programs at most that go on in each other */
#define GEN_SLOTS 4u   /* for them */
#define GEN_INNER_ENTRIES 3u

/* random_maps.c; what they point to is static */
void gen_maps(struct gpubpf_map maps[GEN_NMAPS]);

struct gen_rng {
	uint64_t state;
};
uint64_t gen_random(struct gen_rng *rng);

enum gen_kind {
	GEN_ALL,    /* every map and helper */
	GEN_KERNEL, /* maps and helpers that the Linux kernel has too, and that give the same there */
	GEN_PLAIN,  /* arithmetic, branches, loops, calls and memory alone, for which compilers take little time */
	GEN_NKINDS,
};

/* Write a program, and behind it those that it may go on in, which begin where `begin` says; how many instructions in all.
 * begin[0] is 0, and so is that of a part that there is not. */
uint32_t gen_program(struct gen_rng *rng, enum gen_kind kind, struct gpubpf_raw_insn out[GEN_INSNS], uint32_t begin[GEN_PARTS]);

#endif
