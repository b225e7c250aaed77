/* SPDX-License-Identifier: Apache-2.0 */
/* The assembly text of a twin under construction, for stub.c, insn_probe.c and its parts. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_STUB_TEXT_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_STUB_TEXT_H

#include <stdio.h>

#include "stub.h"

/* spellings that differ between families; several instructions are whole lines */
struct hip_spelling {
	const char *settle;        /* wait between vector and scalar instructions that use each other's results */
	const char *wait;          /* wait for all memory operations that will still write registers */
	const char *drain;         /* wait for matrix instructions too */
	const char *add, *add_carry, *sub_borrow; /* with carry-in from the lower half and carry-out */
	const char *first_bit;     /* of a mask */
	const char *load, *store;  /* of 32 bits: a scalar load, a store to the group's memory */
	const char *meet;          /* a barrier of the group */
	const char *compare;       /* operand of "v_cmpx_%s", which removes lanes from EXEC for which the comparison is
				    * false */
};

/* label of the kernel's instruction at an offset */
#define HIP_STUB_WORD ".Lgpubpf_%u"

struct hip_text {
	FILE *f;
	const struct hip_draft *draft;
	const struct hip_spelling *say;
	uint8_t *labelled;         /* words of the kernel to which branches go */
	char *places;              /* the stubs of its places */
	size_t nplaces, *ends;     /* their length; where each place's stub ends in them */
	struct hip_start kept;     /* registers of the twin's initial state; register i is saved in lane i of `state` */
};

/* Waits between vector and scalar instructions that use each other's results. */
static inline void hip_emit_hazard_wait(struct hip_text *t)
{
	fputs(t->say->settle, t->f);
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
/* insn_probe.c: emits the stub of an instruction's places, if it has probes; and the instruction that replaces it in
 * the kernel. */
void hip_write_place(struct hip_text *t, uint32_t place);
bool hip_write_place_branch(struct hip_text *t, uint32_t place);

#endif
