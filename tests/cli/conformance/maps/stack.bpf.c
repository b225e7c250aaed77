/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STACK: the order of values, every error, and a push with BPF_EXIST, which replaces the oldest value of a full stack.
 */
#define TYPE BPF_MAP_TYPE_STACK
#include "steps.h"

EXPECT("checks 30");
EXPECT("drops values 1");

static const struct step steps[] = {
	STEP(POP, NONE, 0, -2),
	STEP(PEEK, NONE, 0, -2),
	STEP(PUSH, 1, BPF_ANY, 0),
	STEP(PUSH, 2, BPF_ANY, 0),
	STEP(PUSH, 3, BPF_ANY, 0),
	STEP(PUSH, 4, BPF_ANY, -7),
	STEP(PUSH, 4, BPF_NOEXIST, -22),
	STEP(PUSH, 4, BPF_EXIST, 0),
	STEP(PEEK, 4, 0, 0),
	STEP(POP, 4, 0, 0),
	STEP(POP, 3, 0, 0),
	STEP(PUSH, 5, BPF_ANY, 0),
	STEP(POP, 5, 0, 0),
	STEP(POP, 2, 0, 0),
	STEP(POP, NONE, 0, -2),
};

SEC("gpu/entry/*")
int stack(struct gpubpf_ctx *ctx)
{
	run(steps, sizeof(steps) / sizeof(steps[0]));
	return 0;
}
