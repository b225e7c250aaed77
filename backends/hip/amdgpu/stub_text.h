/* SPDX-License-Identifier: Apache-2.0 */
/* A twin's assembly while it is written, by stub.c and around.c. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_STUB_TEXT_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_STUB_TEXT_H

#include <stdio.h>

#include "stub.h"

/* what the families spell in different ways; texts of several instructions are whole lines */
struct hip_spelling {
	const char *settle;        /* results of vector instructions in scalar registers, and the other way round */
	const char *wait;          /* all of the memory operations that still write registers */
	const char *drain;         /* and matrix instructions */
	const char *add, *add_carry, *sub_borrow; /* with what comes from the lower half, and goes to the next */
	const char *first_bit;     /* of a mask */
	const char *load, *store;  /* of 32 bits: by the scalar unit, and to the group's memory */
	const char *meet;          /* a barrier of the group */
	const char *compare;       /* EXEC keeps the lanes for which the comparison of this name holds: "v_cmpx_%s" and operands */
};

/* the kernel's instruction at an offset, where branches go */
#define HIP_STUB_WORD ".Lgpubpf_%u"

struct hip_text {
	FILE *f;
	const struct hip_draft *draft;
	const struct hip_spelling *say;
	uint8_t *labelled;         /* words of the kernel to which branches go */
	char *places;              /* the stubs of its places */
	size_t nplaces, *ends;     /* their length; where each place's ends there */
	struct hip_start kept;     /* the twin's initial state: its registers are the lanes of `state` */
};

/* Results of vector instructions in scalar registers, and the other way round. */
static inline void hip_settle(struct hip_text *t)
{
	fputs(t->say->settle, t->f);
}

/* EXEC from s0 and s1. */
void hip_set_exec(struct hip_text *t);
/* What stands in the twin for an end of the kernel, where it gives registers away or goes far; false: the kernel's own instruction. */
bool hip_write_instead(struct hip_text *t, const struct hip_patch *patch);
/* The initial state that a descriptor asks for. */
void hip_give_state(struct hip_text *t, const struct hip_descriptor *d);

/* around.c */
/* The calls of bodies; the stub of a place of single instructions, if one stands there; and what stands in the kernel there. */
void hip_write_calls(struct hip_text *t);
void hip_write_place(struct hip_text *t, uint32_t place);
bool hip_write_at(struct hip_text *t, uint32_t place);

#endif
