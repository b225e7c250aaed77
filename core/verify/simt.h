/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private declarations of the SIMT pass. uniform.c computes which values are equal in all lanes; simt.c and wait.c
 * check rules about them.
 */
#ifndef GPUBPF_VERIFY_SIMT_H
#define GPUBPF_VERIFY_SIMT_H

#include "verify.h"

enum level {
	VARYING, /* the value may differ between lanes of a warp */
	SAME_WARP,
	SAME_BLOCK,
	LEVEL = 3,   /* mask of the bits of a byte that hold the level */
	LANE_ID = 4, /* flag in such a byte: the value is computed from a thread's number */
};

struct simt {
	struct verifier *v;
	uint8_t *in;      /* [n][registers]: level of each register before instruction n */
	uint8_t *control; /* [n]: level of control flow at the instruction */
	uint8_t *branch;  /* [n]: for a JCOND with two possible successors: level of its condition */
	uint8_t *result;  /* [functions]: level of each function's r0 */
	uint8_t slot[GPUBPF_STACK_ROWS][MAX_SLOTS];
	uint32_t *join; /* [n]: immediate post-dominator of the instruction, or UINT32_MAX for the function's exit */
	uint32_t *order, *work, *mark, stamp;
	uint8_t *seen;
	int64_t budget;
	bool changed;
};

static inline bool v_took_both_edges(const struct verifier *v, uint32_t pc)
{
	return v->aux[pc].seen == 3;
}

int uniform_find(struct simt *s);
void uniform_finish(struct simt *s);
uint8_t uniform_reg(const struct simt *s, uint32_t pc, unsigned int r);
uint8_t uniform_result(struct simt *s, uint32_t pc);

/* wait.c: refuses loops that end only if another lane changes a value */
int wait_check(struct simt *s);

#endif
