/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the SIMT pass: uniform.c computes uniformity, simt.c and wait.c check it. */
#ifndef GPUBPF_VERIFY_SIMT_H
#define GPUBPF_VERIFY_SIMT_H

#include "verify.h"

enum level {
	VARYING, /* results of the lanes of a warp may differ */
	SAME_WARP,
	SAME_BLOCK,
	LEVEL = 3,   /* mask of the level in a byte */
	LANE_ID = 4, /* flag in a byte: the value is computed from a thread's number */
};

struct simt {
	struct verifier *v;
	uint8_t *in;      /* [n][registers]: level of each register before the instruction */
	uint8_t *control; /* [n]: level of control flow at the instruction */
	uint8_t *branch;  /* [n]: JCOND: level of its condition, if both successors are possible */
	uint8_t *result;  /* [functions]: level of each function's r0 */
	uint8_t slot[GPUBPF_STACK_ROWS][MAX_SLOTS];
	uint32_t *join; /* [n]: immediate post-dominator of the instruction; UINT32_MAX: the exit */
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

/* wait.c: refuses loops that only another lane can end */
int wait_check(struct simt *s);

#endif
