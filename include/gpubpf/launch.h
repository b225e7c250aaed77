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
 * Each launch has its own row, also if launches overlap, and so has each replay of a node of a graph. A row appears when
 * all blocks have ended. Its key is its number, from 0, in the order in which launches ended. The map keeps the newest
 * `max_entries` rows. It counts a launch without a row as a drop: more launches run at once than the map has slots (256).
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
	gpubpf_u64 launch;    /* number of the launch, as in struct gpubpf_ctx; 0 from gpubpf_launch_time() */
	gpubpf_u64 pid;       /* process that launched the kernel; 0 from gpubpf_launch_time() */
	gpubpf_u64 begin;     /* CLOCK_MONOTONIC in ns when the first block began */
	gpubpf_ns time;       /* from the begin of the first block to the end of the last */
	gpubpf_u64 blocks;    /* blocks of the launch */
	gpubpf_u64 ended;     /* blocks that have ended: all of them */
	gpubpf_u64 sms;       /* multiprocessors that ran blocks; 0: the device does not number multiprocessors */
};

#ifdef __bpf__
#define GPUBPF_LAUNCHES(map, n) GPUBPF_MAP(map, BPF_MAP_TYPE_LAUNCHES, __u32, struct gpubpf_launch_row, n)

/* Call at gpu/entry. The first thread of each block marks its begin. Returns 0, or -E2BIG if the launch has no row. */
static __always_inline long gpubpf_launch_begin(const struct gpubpf_ctx *ctx, void *map)
{
	if (ctx->thread_idx[0] | ctx->thread_idx[1] | ctx->thread_idx[2])
		return 0;
	return bpf_gpu_launch_mark(map, 0, ctx->kernel, GPUBPF_LAUNCH_ENDS, 0);
}

/* Return how many of the ends of its block the thread marks. */
static __always_inline gpubpf_u64 gpubpf_launch_ends(const struct gpubpf_ctx *ctx)
{
	gpubpf_u64 first = !(ctx->thread_idx[0] | ctx->thread_idx[1] | ctx->thread_idx[2]);
	gpubpf_u64 last = ctx->thread_idx[0] + 1 == ctx->block_dim[0] && ctx->thread_idx[1] + 1 == ctx->block_dim[1] &&
			  ctx->thread_idx[2] + 1 == ctx->block_dim[2];

	return first + last;
}

/*
 * Call at gpu/exit. The first and the last thread of each block mark its end. Returns the launch's time in ns, at least
 * 1, in the thread that ends the launch. Returns 0 in all other threads, or -E2BIG if the launch has no row.
 */
static __always_inline long gpubpf_launch_end(const struct gpubpf_ctx *ctx, void *map)
{
	gpubpf_u64 kernel = (ctx->kernel & 0xffffffff) | (bpf_get_current_pid_tgid() >> 32 << 32);
	gpubpf_u64 ends = gpubpf_launch_ends(ctx);

	return ends ? bpf_gpu_launch_mark(map, ctx->launch, kernel, GPUBPF_LAUNCH_ENDS, ends) : 0;
}

/*
 * Like gpubpf_launch_end(), for programs that need only the time. The row has no number of the launch and no process. With
 * CUDA, the agent then writes nothing into the stream before the launch.
 */
static __always_inline long gpubpf_launch_time(const struct gpubpf_ctx *ctx, void *map)
{
	gpubpf_u64 ends = gpubpf_launch_ends(ctx);

	return ends ? bpf_gpu_launch_mark(map, 0, ctx->kernel, GPUBPF_LAUNCH_ENDS, ends) : 0;
}
#endif

#endif
