/* SPDX-License-Identifier: Apache-2.0 */
/* Runs generated programs in the interpreter, over maps with random contents. */
#ifndef GPUBPF_TESTS_VERIFY_RUN_H
#define GPUBPF_TESTS_VERIFY_RUN_H

#include "core/interp/interp.h"
#include "gen.h"

struct run {
	struct gpubpf_insn insns[GEN_MAX_INSNS];
	struct gpubpf_prog prog;    /* its instructions are insns; the caller sets ninsns */
	struct gpubpf_unit unit;
	struct gpubpf_map maps[GEN_NMAPS];
	struct gpubpf_layout layout;
	void *arena, *pristine;
	uint32_t thread;            /* number of the thread in a block of 64 threads, which are two warps */
	char problem[1024];         /* first problem, "" none */
};

typedef void (*run_observer)(void *arg, const struct gpubpf_interp_state *state);

bool run_setup(struct run *r);
void run_finish(struct run *r);
/* Run the program once with new random contents of the maps. Sets problem if the interpreter refuses an access. */
void run_once(struct run *r, struct gen *g, run_observer observe, void *arg);

#endif
