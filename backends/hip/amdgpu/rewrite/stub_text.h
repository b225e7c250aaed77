/* SPDX-License-Identifier: Apache-2.0 */
/* The assembly text of a twin under construction, for stub.c, insn_probe.c and its parts. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_STUB_TEXT_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_STUB_TEXT_H

#include <stdio.h>

#include "stub.h"

/* texts that differ between families; some are mnemonics, others whole lines of assembly */
struct hip_spelling {
	const char *hazard_nop; /* wait between vector and scalar instructions that use each other's results */
	const char *wait;       /* wait for all memory operations that will still write registers */
	const char *drain;      /* wait for matrix instructions too */
	const char *add, *add_carry, *sub_borrow; /* mnemonics of 32-bit arithmetic; the last two have carry-in and
						   * carry-out */
	const char *first_bit;                    /* mnemonic: index of the lowest set bit of a mask */
	const char *load, *store; /* mnemonics of 32-bit accesses: a scalar load, a store to the group's memory */
	const char *barrier;      /* waits at a barrier of the group */
	const char *compare;      /* operand of "v_cmpx_%s", which removes lanes from EXEC for which the comparison is
				    * false */
};

/* label of the kernel's instruction at a byte offset */
#define HIP_STUB_WORD ".Lgpubpf_%u"

struct hip_text {
	FILE *f;
	const struct hip_draft *draft;
	const struct hip_spelling *spelling;
	uint8_t *labelled;              /* [word of the kernel] 1: the target of a branch, so it gets a label */
	char *places;                   /* text of the stubs of all places */
	size_t nplaces, *ends;          /* bytes of this text; [patch] offset in the text where the patch's stub ends */
	struct hip_start initial_state; /* initial registers that the twin's descriptor requests; register i is saved in
					 * lane i of draft->state */
};

/* Waits between vector and scalar instructions that use each other's results. */
static inline void hip_emit_hazard_wait(struct hip_text *t)
{
	fputs(t->spelling->hazard_nop, t->f);
}

/* Sets EXEC from s0 and s1. */
void hip_set_exec(struct hip_text *t);
/* Emits the twin's replacement for an end of the kernel, a release of registers, or a far jump. Returns false to keep
 * the kernel's instruction. */
bool hip_write_replacement(struct hip_text *t, const struct hip_patch *patch);
/* Restores the initial state that a descriptor requests. */
void hip_restore_state(struct hip_text *t, const struct hip_descriptor *d);

/* saved_state.c: emits the code that calls bodies. */
void hip_write_calls(struct hip_text *t);
/* insn_probe.c: hip_write_place() emits the stub of patch number `place`, if it has probes. The other function emits
 * the instruction that replaces it in the kernel, or returns false to keep it. */
void hip_write_place(struct hip_text *t, uint32_t place);
bool hip_write_place_branch(struct hip_text *t, uint32_t place);

#endif
