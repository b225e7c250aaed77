/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relax(from, to, ...) is launched repeatedly, with the buffers swapped: to[i] depends on the numbers around from[i].
 * The probe decides which blocks still run. If a block and its neighbours changed nothing in two launches, it would
 * write the numbers that are already there, so it ends at its entry. In the end all blocks do. Through the map
 * `control`, a user can end the remaining blocks, or make all blocks run.
 */
#include <gpubpf/probe.h>

#define BLOCKS 4096 /* blocks from this number on are never skipped */

struct control {
	__u64 stop; /* 1: no block runs */
	__u64 all;  /* 1: every block runs */
};
GPUBPF_ARRAY(control, struct control, 1);

struct GPUBPF_ROW threads {
	__u64 ran, settled, stopped;
};
GPUBPF_ARRAY(threads, struct threads, 1);
GPUBPF_ARRAY(changed, __u64, BLOCKS) GPUBPF_SCRATCH; /* last launch in which a block changed a number, plus 1 */
/* numbers of the last probed launches, plus 1; other launches may have changed numbers unseen */
GPUBPF_ARRAY(probed, __u64, 4) GPUBPF_SCRATCH;

/* Has block b changed a number in one of the last two launches? */
static __always_inline int moves(struct gpubpf_ctx *ctx, __u32 b)
{
	__u64 *last = bpf_map_lookup_elem(&changed, &b);

	return last && *last + 2 > ctx->launch;
}

static __always_inline int was_probed(__u64 launch)
{
	__u64 *last = bpf_map_lookup_elem(&probed, &(__u32){ launch % 4 });

	return last && *last == launch + 1;
}

SEC("gpu/entry/relax")
int begins(struct gpubpf_ctx *ctx)
{
	struct control *c = bpf_map_lookup_elem(&control, &(__u32){ 0 });
	struct threads *t = bpf_map_lookup_elem(&threads, &(__u32){ 0 });
	__u64 *here = bpf_map_lookup_elem(&probed, &(__u32){ ctx->launch % 4 });
	__u32 b = ctx->block_idx[0];

	if (!c || !t || !here)
		return 0;
	*here = ctx->launch + 1;
	if (c->stop) {
		gpubpf_count(&t->stopped, 1);
		bpf_exit_thread();
	} else if (!c->all && ctx->launch >= 2 && was_probed(ctx->launch - 1) && was_probed(ctx->launch - 2) && b < BLOCKS &&
		   !moves(ctx, b - 1) && !moves(ctx, b) && !moves(ctx, b + 1)) {
		gpubpf_count(&t->settled, 1);
		bpf_exit_thread();
	}
	gpubpf_count(&t->ran, 1);
	return 0;
}

/* Threads that ended at their entry do not reach this program. */
SEC("gpu/exit/relax")
int GPUBPF_PROBE(ends, const __u32 *from, const __u32 *to)
{
	__u32 was = 0, is = 1, b = ctx->block_idx[0];
	__u64 *last;

	bpf_probe_read_kernel(&was, sizeof(was), from + ctx->global_linear);
	bpf_probe_read_kernel(&is, sizeof(is), to + ctx->global_linear);
	last = bpf_map_lookup_elem(&changed, &b);
	if (last && was != is)
		*last = ctx->launch + 1;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
