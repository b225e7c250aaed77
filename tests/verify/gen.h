/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs that are almost valid: they look up values, check, bound, spill, loop and call,
 * so that many are accepted and the rest have one fault. The same seed gives the same program. */
#ifndef GPUBPF_TESTS_VERIFY_GEN_H
#define GPUBPF_TESTS_VERIFY_GEN_H

#include "core/model/insn.h"
#include "core/model/prog.h"

#define GEN_MAX_INSNS 512
#define GEN_NMAPS 4

struct gen {
	uint64_t rng;
	struct gpubpf_raw_insn insns[GEN_MAX_INSNS];
	uint32_t n;
	uint32_t to_end[64];     /* jumps to the end of the main program, to be patched */
	uint32_t nto_end;
	uint32_t calls[8];       /* calls of the subprogram */
	uint32_t ncalls;
	bool kernel;             /* only helpers of the Linux kernel */
};

/* The maps that a generated program uses, in this order. */
void gen_maps(struct gpubpf_map maps[GEN_NMAPS]);
void gen_program(struct gen *g, uint64_t seed);
/* Changes a few fields of a program at random. */
void gen_mutate(struct gen *g);
uint64_t gen_random(struct gen *g);

#endif
