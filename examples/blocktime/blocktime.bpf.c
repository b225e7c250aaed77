/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how long each work-group of every kernel runs, from the entry of its first lane to the exit of its last
 * lane.
 */
#include <gpubpf/probe.h>

struct totals {
	__u64 threads_entered, threads_left;
	__u64 blocks;  /* measured blocks */
	__u64 untimed; /* entries of threads whose group is not in `running`, because the map was full */
};
GPUBPF_ARRAY(totals, struct totals, 1);
GPUBPF_HISTOGRAM(block_ns);

/* A running group: the number of threads that have entered and left, and the time of the first entry. */
struct group {
	__u64 arrived, left, start;
};
GPUBPF_HASH(running, __u64, struct group, 16384);

/*
 * Returns the key of a group: its number, the launch and the kernel. The number alone is not unique, because launches
 * of one or several kernels may overlap.
 */
static __always_inline __u64 group_key(const struct gpubpf_ctx *ctx)
{
	return gpubpf_block_linear(ctx) | (ctx->launch & 0xffff) << 32 | ctx->kernel << 48;
}

static __always_inline struct group *find_or_create(__u64 *key)
{
	struct group *group = bpf_map_lookup_elem(&running, key), fresh = {};

	if (group)
		return group;
	bpf_map_update_elem(&running, key, &fresh, BPF_NOEXIST); /* fails harmlessly if another lane inserts it first */
	return bpf_map_lookup_elem(&running, key);
}

SEC("gpu/entry/*")
int block_enter(struct gpubpf_ctx *ctx)
{
	__u64 key = group_key(ctx);
	struct totals *t = bpf_map_lookup_elem(&totals, &(__u32){ 0 });
	struct group *group = find_or_create(&key);

	if (!t)
		return 0;
	gpubpf_count(&t->threads_entered, 1);
	if (!group) {
		gpubpf_count(&t->untimed, 1);
		return 0;
	}
	if (gpubpf_fetch_add(&group->arrived, 1) == 0) {
		group->start = bpf_ktime_get_ns();
		/*
		 * The last lane reads `start` after it has seen this lane in `left`. The barrier makes the write of
		 * `start` visible before that.
		 */
		bpf_gpu_membar();
	}
	return 0;
}

SEC("gpu/exit/*")
int block_leave(struct gpubpf_ctx *ctx)
{
	__u64 key = group_key(ctx);
	struct totals *t = bpf_map_lookup_elem(&totals, &(__u32){ 0 });
	struct group *group = bpf_map_lookup_elem(&running, &key);

	if (!t)
		return 0;
	gpubpf_count(&t->threads_left, 1);
	if (!group || gpubpf_fetch_add(&group->left, 1) + 1 < gpubpf_block_threads(ctx))
		return 0;
	/* This is the last lane: all threads of the group have entered and left. */
	gpubpf_observe(&block_ns, bpf_ktime_get_ns() - group->start);
	gpubpf_count(&t->blocks, 1);
	bpf_map_delete_elem(&running, &key);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
