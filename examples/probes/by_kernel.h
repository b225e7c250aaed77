/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the probes that `gpubpf probes` lists. They use only arrays, so that they run on every device that can be
 * probed.
 */
#ifndef GPUBPF_EXAMPLES_BY_KERNEL_H
#define GPUBPF_EXAMPLES_BY_KERNEL_H

#include <gpubpf/probe.h>

#define KERNELS 1024
#define MULTIPROCESSORS 4096 /* more multiprocessors than any device has */

#define BY_KERNEL(map, value_type) GPUBPF_MAP(map, BPF_MAP_TYPE_ARRAY, gpubpf_kernel_index, value_type, KERNELS)

/* Returns the value of the current kernel in a map that is indexed by kernel. */
static __always_inline void *of_kernel(const struct gpubpf_ctx *ctx, void *map)
{
	gpubpf_kernel_index kernel = ctx->kernel;

	return bpf_map_lookup_elem(map, &kernel);
}

/*
 * A block is observed only through its first and its last thread, because this costs least. The block begins when the
 * first thread enters, and ends when both threads have left. On a CPU, the threads of a block run one after another.
 */
static __always_inline int is_first_thread(const struct gpubpf_ctx *ctx)
{
	return !(ctx->thread_idx[0] | ctx->thread_idx[1] | ctx->thread_idx[2]);
}

static __always_inline int is_last_thread(const struct gpubpf_ctx *ctx)
{
	return ctx->thread_idx[0] + 1 == ctx->block_dim[0] && ctx->thread_idx[1] + 1 == ctx->block_dim[1] &&
	       ctx->thread_idx[2] + 1 == ctx->block_dim[2];
}

/*
 * A block is measured by ENDS threads, its first and its last. Returns how many of these the current thread is: 0, 1,
 * or 2 in a block of one thread.
 */
#define ENDS 2
static __always_inline __u64 ends_of(const struct gpubpf_ctx *ctx)
{
	return is_first_thread(ctx) + is_last_thread(ctx);
}

#endif
