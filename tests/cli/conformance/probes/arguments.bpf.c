/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel arguments: each scalar type, signed and unsigned, a struct by value, more than six arguments, and missing
 * arguments.
 */
#include "../case.h"

EXPECT("workload plain");
EXPECT("launch 2,1,1 16,1,1");
EXPECT("checks 448");

SEC("gpu/entry/plain")
int arguments(struct gpubpf_ctx *ctx)
{
	struct {
		int x, y;
	} pair = { 0, 0 };

	CHECK(ctx->nargs, 8);
	CHECK(ctx->arg[0] != 0, 1);
	CHECK(GPUBPF_ARG(ctx, 1, signed char), (signed char)-3);
	CHECK(GPUBPF_ARG(ctx, 2, short), (short)-1000);
	CHECK(GPUBPF_ARG(ctx, 3, int), -100000);
	CHECK(ctx->arg[4], -10000000000);
	CHECK(ctx->arg[5], 0x3f200000);
	CHECK(ctx->arg[7], 4000000000);
	CHECK(bpf_gpu_read_arg(ctx, 6, 0, &pair, sizeof(pair)), 0);
	CHECK(pair.x, 11);
	CHECK(pair.y, 22);
	CHECK(bpf_gpu_read_arg(ctx, 6, 4, &pair.x, sizeof(pair.x)), 0);
	CHECK(pair.x, 22);
	CHECK(bpf_gpu_read_arg(ctx, 6, 4, &pair, sizeof(pair)), -22);
	return 0;
}
