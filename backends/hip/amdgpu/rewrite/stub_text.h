/* SPDX-License-Identifier: Apache-2.0 */
/* The assembly text of a twin while stub.c, insn_probe.c, insn_operands.c and saved_state.c write it. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_STUB_TEXT_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_STUB_TEXT_H

#include <stdio.h>

#include "stub.h"

/* Assembly that differs between processor families. Some members are mnemonics, others are whole lines. */
struct hip_spelling {
	const char *hazard_nop; /* line: wait that is required between dependent vector and scalar instructions */
	const char *wait;       /* lines: wait for all loads that have not written their registers yet */
	const char *drain;      /* lines: wait for matrix instructions to write their results */
	/* mnemonics of 32-bit arithmetic; the last two have a carry input and output */
	const char *add, *add_carry, *sub_borrow;
	const char *first_bit; /* mnemonic of the search for the lowest set bit */
	/* mnemonics of a 32-bit scalar load, and of a 32-bit store to the work-group's memory */
	const char *load, *store;
	const char *barrier; /* lines: wait at the work-group's barrier */
	const char *compare; /* first operand of v_cmpx if it has a scalar destination; else "" */
};

/* name of the label at a byte offset of the kernel's code */
#define HIP_STUB_WORD ".Lgpubpf_%u"

struct hip_text {
	FILE *f;
	const struct hip_draft *draft;
	const struct hip_spelling *spelling;
	/* [word of the kernel's code] 1: the word is a branch target and gets a label */
	uint8_t *labelled;
	char *places; /* text of the stubs of all places */
	/* bytes of `places`; [patch] offset in `places` at which the patch's stub ends */
	size_t nplaces, *ends;
	/* initial registers that the twin's descriptor requests; lane i of draft->state saves s<i> */
	struct hip_start initial_state;
};

/* Emits the wait that is required between dependent vector and scalar instructions. */
static inline void hip_emit_hazard_wait(struct hip_text *t)
{
	fputs(t->spelling->hazard_nop, t->f);
}

/* Emits code that sets EXEC from s0 and s1. */
void hip_set_exec(struct hip_text *t);
/* Emits the twin's replacement for an end of the kernel, a release of registers, a far jump or a call. Returns false if
 * the original instruction stays. */
bool hip_write_replacement(struct hip_text *t, const struct hip_patch *patch);
/* Emits code that sets the initial registers that a descriptor requests, from the saved state. */
void hip_restore_state(struct hip_text *t, const struct hip_descriptor *d);

/* saved_state.c: emits the code around the call of each probe body. */
void hip_write_calls(struct hip_text *t);
/* insn_probe.c: hip_write_place() emits the stub of patch number `place`, if it has probes. The function
 * hip_write_place_branch() emits the instruction that replaces the original one. It returns false if the original
 * instruction stays. */
void hip_write_place(struct hip_text *t, uint32_t place);
bool hip_write_place_branch(struct hip_text *t, uint32_t place);

#endif
