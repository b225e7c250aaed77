/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends blocks of a kernel early. The application launches relax(from, to, ...) repeatedly, and swaps the buffers
 * between launches. to[i] depends on the numbers around from[i].
 *
 * If a block and its neighbours have changed no number in two launches, the block would only write the numbers that are
 * already there. So the block ends at its entry. Finally all blocks do so. With the map `control`, a user can end all
 * remaining blocks, or make all blocks run.
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
/* per block: 1 + the number of the last launch in which the block changed a number */
GPUBPF_ARRAY(changed, __u64, BLOCKS) GPUBPF_SCRATCH;
/*
 * 1 + the numbers of the last 4 probed launches; an unprobed launch may have changed numbers without an entry in
 * `changed`
 */
GPUBPF_ARRAY(probed, __u64, 4) GPUBPF_SCRATCH;

/* Returns true if block b changed a number in one of the last two launches. */
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

/* This program does not run for threads that ended at their entry. */
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
