/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measured BPF programs, one per object. Macros select them:
 *
 *   -DEMPTY      Does nothing.
 *   -DCOUNTER    Counts threads.
 *   -DHISTOGRAM  Counts threads by their index in the block.
 *   -DVALUE      Stores the time in a per-thread map.
 *   -DCLOCK      Stores the times of entry and exit of each warp.
 *   -DEVENT      Outputs a record per thread.
 *   -DEVENTS     Like EVENT, into a ring buffer for 2^27 records.
 *   -DLOOKUP     Looks up and reads one of 4096 values.
 *   -DACCESSES   Counts accesses of global memory.
 *   -DSIZES      Adds up the bytes of these accesses, separately for reads and writes.
 *   -DSECTORS    Counts the 32-byte sectors of each access of a warp.
 *   -DBLOCKS     Stores the times of begin and end of each block.
 *   -DWAITS      Adds up the barrier waits of the first lane of each warp.
 *   -DBRANCHES   Counts conditional branches, and the branches at which lanes diverge.
 */
#include <gpubpf/probe.h>

#if defined(COUNTER) || defined(HISTOGRAM)
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");
#elif defined(VALUE)
GPUBPF_PER_THREAD(values, __u64);
#elif defined(CLOCK)
struct times {
	__u64 entered, left;
};
GPUBPF_ARRAY(warps, struct times, 1 << 21);

/* Returns the element of the warp if this lane is the warp's first lane, otherwise NULL. */
static __always_inline struct times *times_of_warp(struct gpubpf_ctx *ctx)
{
	__u32 warp = (__u32)ctx->global_id[0] / 32; /* the measured kernel has one dimension */

	return bpf_get_lane_id() ? NULL : bpf_map_lookup_elem(&warps, &warp);
}

SEC("gpu/entry/*")
int enter(struct gpubpf_ctx *ctx)
{
	struct times *t = times_of_warp(ctx);

	if (t)
		t->entered = bpf_ktime_get_ns();
	return 0;
}
#elif defined(EVENT) || defined(EVENTS)
struct event {
	__u64 thread, block;
};

#ifdef EVENTS
GPUBPF_MAP(events, BPF_MAP_TYPE_GPU_RINGBUF, __u32, struct event, 1 << 27);
#else
GPUBPF_RINGBUF(events, struct event, 1 << 26);
#endif
#endif

#if defined(LOOKUP)
GPUBPF_ARRAY(table, __u64, 4096);
GPUBPF_ARRAY(found, __u64, 1);
#elif defined(ACCESSES)
GPUBPF_ARRAY(counts, __u64, 1);
#elif defined(SIZES)
GPUBPF_ARRAY(counts, __u64, 4);
#elif defined(SECTORS)
GPUBPF_ARRAY(counts, __u64, 64);
#elif defined(BLOCKS)
struct times {
	__u64 begun, ended;
};
GPUBPF_ARRAY(blocks, struct times, 1 << 19);

SEC("gpu/block_begin/*")
int begin(struct gpubpf_ctx *ctx)
{
	__u32 block = gpubpf_block_linear(ctx);
	struct times *t = bpf_map_lookup_elem(&blocks, &block);

	if (t)
		t->begun = bpf_ktime_get_ns();
	return 0;
}
#elif defined(WAITS)
struct waited {
	__u64 waits, ns;
};
GPUBPF_ARRAY(waited, struct waited, 1);
GPUBPF_ARRAY(began, __u64, 1 << 20);

/* Returns the element of the warp if this lane is the warp's first lane, otherwise NULL. */
static __always_inline __u64 *began_of_warp(struct gpubpf_ctx *ctx)
{
	__u32 warp = gpubpf_block_linear(ctx) * (__u32)(gpubpf_block_threads(ctx) / 32) + bpf_get_warp_id();

	return bpf_get_lane_id() ? NULL : bpf_map_lookup_elem(&began, &warp);
}

SEC("gpu/barrier/*")
int comes(struct gpubpf_ctx *ctx)
{
	__u64 *began = began_of_warp(ctx);

	if (began)
		*began = bpf_ktime_get_ns();
	return 0;
}
#elif defined(BRANCHES)
struct seen {
	__u64 executed, parted;
};
GPUBPF_ARRAY(branches, struct seen, 1);
#endif

#if defined(ACCESSES) || defined(SIZES) || defined(SECTORS)
SEC("gpu/mem/*")
#elif defined(BLOCKS)
SEC("gpu/block_end/*")
#elif defined(WAITS)
SEC("gpu/barrier_exit/*")
#elif defined(BRANCHES)
SEC("gpu/branch/*")
#else
SEC("gpu/exit/*")
#endif
int probe(struct gpubpf_ctx *ctx)
{
#if defined(COUNTER) || defined(HISTOGRAM)
	__u32 slot = 0;
	__u64 *n;

#ifdef HISTOGRAM
	slot = ctx->thread_idx[0] & 255;
#endif
	n = bpf_map_lookup_elem(&counts, &slot);
	if (n)
		__atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
#elif defined(VALUE)
	__u64 *value = bpf_map_lookup_elem(&values, &(__u32){ 0 });

	if (value)
		*value = bpf_ktime_get_ns();
#elif defined(LOOKUP)
	__u64 *value = bpf_map_lookup_elem(&table, &(__u32){ ctx->global_id[0] & 4095 });

	if (value && *value) /* never true; the condition prevents the compiler from removing the read */
		gpubpf_add(&found, 0, 1);
#elif defined(CLOCK)
	struct times *t = times_of_warp(ctx);

	if (t)
		t->left = bpf_ktime_get_ns();
#elif defined(ACCESSES)
	gpubpf_add(&counts, 0, 1);
#elif defined(SIZES)
	gpubpf_add(&counts, ctx->mem.access & 3, ctx->mem.bytes);
#elif defined(SECTORS)
	__u64 self = 1ull << (bpf_get_lane_id() & 63), below = self - 1;
	__u64 first = bpf_warp_ballot(!(bpf_warp_match(ctx->mem.addr >> 5) & below));

	if (!(first & below)) /* this lane is the first active lane of the warp */
		gpubpf_add(&counts, __builtin_popcountll(first) & 63, 1);
#elif defined(BLOCKS)
	__u32 block = gpubpf_block_linear(ctx);
	struct times *t = bpf_map_lookup_elem(&blocks, &block);

	if (t)
		t->ended = bpf_ktime_get_ns();
#elif defined(WAITS)
	struct waited *w = bpf_map_lookup_elem(&waited, &(__u32){ 0 });
	__u64 *began = began_of_warp(ctx);

	if (w && began) {
		gpubpf_count(&w->waits, 1);
		gpubpf_count(&w->ns, bpf_ktime_get_ns() - *began);
	}
#elif defined(BRANCHES)
	struct seen *s = bpf_map_lookup_elem(&branches, &(__u32){ 0 });

	if (s) {
		gpubpf_count(&s->executed, 1);
		gpubpf_count(&s->parted, ctx->branch.lanes && ctx->branch.lanes != ctx->branch.active);
	}
#elif defined(EVENT) || defined(EVENTS)
	struct event event = { ctx->global_id[0], ctx->block_idx[0] };

#ifdef EVENTS
	bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, &event, sizeof(event));
#else
	bpf_ringbuf_output(&events, &event, sizeof(event), 0);
#endif
#endif
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
