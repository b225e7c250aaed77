/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every context field, also with partial loads. Arguments are read through register names too; missing arguments are 0.
 */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(seen, __u64, 1);

SEC("gpu/entry/*")
int context(struct gpubpf_ctx *ctx)
{
	__u64 sum = ctx->launch + ctx->kernel + ctx->site + ctx->nargs + ctx->work_dim + ctx->device;
	__u64 *value;
	__u32 key = 0;

#pragma unroll
	for (int i = 0; i < 3; i++)
		sum += ctx->grid_dim[i] + ctx->block_dim[i] * 3 + ctx->block_idx[i] * 5 + ctx->thread_idx[i] * 7 +
		       ctx->global_id[i] * 11 + ctx->global_offset[i] * 13;
	sum += ctx->global_linear + ctx->arg[0] + ctx->arg[5] + ctx->arg[31];
	sum += ctx->di + ctx->si + ctx->dx + ctx->cx + ctx->r8 + ctx->r9 + ctx->ax;
	sum += ctx->kernel_name[0] + ctx->kernel_name[3] + ctx->kernel_name[63];
	sum += *(volatile __u16 *)&ctx->arg[2] + *(volatile __u8 *)&ctx->arg[3];
	value = bpf_map_lookup_elem(&seen, &key);
	if (value)
		*value = sum;
	return 0;
}
