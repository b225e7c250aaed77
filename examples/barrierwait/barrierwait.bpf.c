/* SPDX-License-Identifier: Apache-2.0 */
/* Measures how long lanes wait at each barrier, from the arrival of a lane until the lane continues. */
#include <gpubpf/probe.h>

struct barrier {
	gpubpf_kernel kernel;
	__u32 place; /* number of the barrier in its function, counted in code order */
	__u32 line;  /* source line, 0: unknown */
};
struct GPUBPF_ROW wait {
	struct gpubpf_times waits;
};
GPUBPF_HASH(barriers, struct barrier, struct wait, 1024);
GPUBPF_PER_THREAD(came, __u64) GPUBPF_SCRATCH;

SEC("gpu/barrier/*")
int comes(struct gpubpf_ctx *ctx)
{
	__u64 *came_at = bpf_map_lookup_elem(&came, &(__u32){ 0 });

	if (came_at)
		*came_at = bpf_ktime_get_ns();
	return 0;
}

SEC("gpu/barrier_exit/*")
int goes_on(struct gpubpf_ctx *ctx)
{
	struct barrier key = { gpubpf_kernel_of(ctx), ctx->place, ctx->line };
	__u64 *came_at = bpf_map_lookup_elem(&came, &(__u32){ 0 }), now = bpf_ktime_get_ns();
	struct wait *w = bpf_map_lookup_elem(&barriers, &key);
	static const struct wait none;

	if (!w) {
		/* fails harmlessly if another lane is first */
		bpf_map_update_elem(&barriers, &key, (void *)&none, BPF_NOEXIST);
		w = bpf_map_lookup_elem(&barriers, &key);
	}
	if (w && came_at)
		gpubpf_measure(&w->waits, now - *came_at);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
