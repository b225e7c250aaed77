/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates random programs that are almost valid: they look up values, compare, bound, spill, loop and call. The
 * verifier accepts many of them, and the others have one fault. The same seed gives the same program.
 */
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
	uint32_t to_end[64];     /* indices of jumps to the end of the main program, whose offsets are set last */
	uint32_t nto_end;
	uint32_t calls[8];       /* indices of the calls of the subprogram */
	uint32_t ncalls;
	bool kernel;             /* generate only calls of helpers that the Linux kernel has */
};

/* Store the definitions of the maps that generated programs use. */
void gen_maps(struct gpubpf_map maps[GEN_NMAPS]);
void gen_program(struct gen *g, uint64_t seed);
/* Changes a few fields of a program at random. */
void gen_mutate(struct gen *g);
uint64_t gen_random(struct gen *g);

#endif
