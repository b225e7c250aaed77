/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a map of type LAUNCHES. Programs and the host include this header. New members are added only at the end.
 *
 *	GPUBPF_LAUNCHES(rows, 1024);
 *
 *	SEC("gpu/entry/matmul")
 *	int begins(struct gpubpf_ctx *ctx)
 *	{
 *		gpubpf_launch_begin(ctx, &rows);
 *		return 0;
 *	}
 *
 *	SEC("gpu/exit/matmul")
 *	int ends(struct gpubpf_ctx *ctx)
 *	{
 *		gpubpf_launch_end(ctx, &rows);
 *		return 0;
 *	}
 *
 * Each launch has its own row, also if launches overlap. The key of a row is its number, from 0, in the order in which
 * launches began. If the map is full, later launches get no row. The map counts them as drops.
 *
 * With CUDA, launches from graphs may share a row. Then `ended` is larger than `blocks`, and the map counts all but one
 * of these launches as drops.
 */
#ifndef GPUBPF_LAUNCH_H
#define GPUBPF_LAUNCH_H

#include "ctx.h"

#ifdef __bpf__
#define GPUBPF_LAUNCH_ROW __attribute__((btf_decl_tag("gpubpf:row")))
#else
#define GPUBPF_LAUNCH_ROW
typedef gpubpf_u64 gpubpf_kernel, gpubpf_ns;
#endif

/* Number of marks of a block's end: its first and its last thread mark it. */
#define GPUBPF_LAUNCH_ENDS 2

struct GPUBPF_LAUNCH_ROW gpubpf_launch_row {
	gpubpf_kernel kernel; /* id of the kernel in the session */
	gpubpf_u64 launch;    /* number of the launch, as in struct gpubpf_ctx */
	gpubpf_u64 pid;       /* process that launched the kernel */
	gpubpf_u64 begin;     /* CLOCK_MONOTONIC in ns when the first block began */
	gpubpf_ns time;    /* from the begin of the first block to the end of the last; 0 until all blocks have ended */
	gpubpf_u64 blocks; /* blocks of the launch */
	gpubpf_u64 ended;  /* blocks that have ended; the row is complete if this equals `blocks` */
	gpubpf_u64 sms;    /* multiprocessors that ran blocks; 0: the device does not number multiprocessors */
};

#ifdef __bpf__
#define GPUBPF_LAUNCHES(map, n) GPUBPF_MAP(map, BPF_MAP_TYPE_LAUNCHES, __u32, struct gpubpf_launch_row, n)

static __always_inline long gpubpf_launch_mark(const struct gpubpf_ctx *ctx, void *map, gpubpf_u64 ends)
{
	gpubpf_u64 blocks = ctx->grid_dim[0] * ctx->grid_dim[1] * ctx->grid_dim[2];
	gpubpf_u64 kernel = (ctx->kernel & 0xffffffff) | (bpf_get_current_pid_tgid() >> 32 << 32);

	return bpf_gpu_launch_mark(map, ctx->launch, kernel, GPUBPF_LAUNCH_ENDS * blocks, ends);
}

/* Call at gpu/entry. The first thread of each block marks its begin. Returns 0, or -E2BIG if the launch has no row. */
static __always_inline long gpubpf_launch_begin(const struct gpubpf_ctx *ctx, void *map)
{
	if (ctx->thread_idx[0] | ctx->thread_idx[1] | ctx->thread_idx[2])
		return 0;
	return gpubpf_launch_mark(ctx, map, 0);
}

/* Call at gpu/exit. The first and the last thread of each block mark its end. Returns 0, or -E2BIG. */
static __always_inline long gpubpf_launch_end(const struct gpubpf_ctx *ctx, void *map)
{
	gpubpf_u64 first = !(ctx->thread_idx[0] | ctx->thread_idx[1] | ctx->thread_idx[2]);
	gpubpf_u64 last = ctx->thread_idx[0] + 1 == ctx->block_dim[0] && ctx->thread_idx[1] + 1 == ctx->block_dim[1] &&
			  ctx->thread_idx[2] + 1 == ctx->block_dim[2];

	return first + last ? gpubpf_launch_mark(ctx, map, first + last) : 0;
}
#endif

#endif
