/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of values that the test can compute for each thread; tests/backends/hip/run.py checks them. */
#include <gpubpf/probe.h>

struct sums {
	__u64 entered, left;           /* threads */
	__u64 ids[2], ids_squared[2];  /* global_linear and its square, at entry and exit */
	__u64 items[2], groups[2];     /* weighted sums of thread_idx and block_idx */
	__u64 sizes[2];                /* weighted sums of block_dim and grid_dim */
	__u64 args[2];                 /* the third argument */
};
GPUBPF_ARRAY(sums, struct sums, 1);

SEC("gpu/entry/*")
int count(struct gpubpf_ctx *ctx)
{
	struct sums *s = bpf_map_lookup_elem(&sums, &(__u32){ 0 });
	int at = ctx->site == GPUBPF_SITE_EXIT;
	__u64 id = ctx->global_linear;

	if (!s)
		return 0;
	gpubpf_count(at ? &s->left : &s->entered, 1);
	gpubpf_count(&s->ids[at], id);
	gpubpf_count(&s->ids_squared[at], id * id);
	gpubpf_count(&s->items[at], ctx->thread_idx[0] + 100 * ctx->thread_idx[1] + 10000 * ctx->thread_idx[2]);
	gpubpf_count(&s->groups[at], ctx->block_idx[0] + 100 * ctx->block_idx[1] + 10000 * ctx->block_idx[2]);
	gpubpf_count(&s->sizes[at], ctx->block_dim[0] + 1000 * ctx->grid_dim[0] + 3 * ctx->block_dim[1]);
	gpubpf_count(&s->args[at], ctx->arg[2]);
	return 0;
}
