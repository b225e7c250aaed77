/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grafts probes onto a kernel's code. What is added stands behind the kernel's own code, of which nothing moves: each
 * EXIT becomes a branch, under the same predicates, to the probe of the exit, whose own EXITs end the thread; where
 * nothing behind the last EXIT is ever carried out, the probe stands there itself. The first instruction becomes a
 * branch to the probe of the entry, behind which that instruction is carried out and the kernel goes on; where the
 * probe's registers lie above the kernel's it can be the first that waits, so that what the kernel reads comes
 * meanwhile. An instruction with a probe around it becomes a branch as well (around.h), and so does one that reads a
 * variable in c[0x3] (constant.h), each where the one before it has put the instruction.
 */
#ifndef GPUBPF_SASS_GRAFT_H
#define GPUBPF_SASS_GRAFT_H

#include "around.h"
#include "code.h"
#include "constant.h"
#include "probe.h"

struct gpubpf_diag;

struct sass_grafted {
	struct sass_insn *insns;   /* malloc'd: the section, the kernel's code first; padded to 128 bytes */
	uint32_t n;
	uint32_t *stands;          /* malloc'd: of each of the kernel's instructions where it is carried out, or leads on from */
	uint32_t entry, exit;      /* index of the probes' first instruction, SASS_NONE: none */
	uint32_t regs;             /* a thread's now, as EIATTR_REGCOUNT counts them */
	uint32_t base;             /* the register that the probes' R0 became */
	uint32_t frame;            /* bytes of stack that the probes need */
	uint32_t given;            /* scoreboards given */
	bool counts;               /* a block's lanes, for which the twin has a word of shared memory (count.h) */
	struct sass_constant_address *addresses; /* malloc'd: what the agent is to fill in */
	uint32_t naddresses;
};

/* entry, exit: NULL: none. 0; -EINVAL and the reason for which they do not fit; -ENOMEM. */
int sass_graft(const struct sass_code *code, uint32_t regs, const struct sass_probe *entry, const struct sass_probe *exit,
	       const struct sass_arounds *around, struct sass_grafted *grafted, struct gpubpf_diag *diag);
void sass_grafted_finish(struct sass_grafted *grafted);

#define SASS_GIVEN_BOARD 5
#define SASS_ALL_BOARDS 0x3f

/* Of a probe's n instructions, those that were given one in `is`: what has to do with what they read or write waits for it. */
void sass_await_given(const struct sass_insn *was, struct sass_insn *is, uint32_t n);
/* An end of a probe's, of which so many instructions stand behind it, becomes a branch to what is behind those. */
struct sass_insn sass_leave(const struct sass_arch *arch, struct sass_insn insn, uint32_t behind);
/* Scoreboards that are still to be waited for behind an instruction of a probe's, of those that were before it. */
unsigned sass_boards_left(unsigned left, struct sass_insn insn);
/* The first of the instructions behind i that has to do with what i reads or writes waits for a scoreboard. */
void sass_await(struct sass_insn *insns, uint32_t n, uint32_t i, unsigned board);

#endif
