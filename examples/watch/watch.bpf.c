/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows where the lanes of kernels are now: the last access of global memory, or the last barrier, that each lane has
 * reached. So it shows where a kernel is stuck, while the kernel runs and after the kernel's context has died.
 */
#include <gpubpf/probe.h>

enum { NOWHERE, ACCESS, BARRIER };

struct place {
	gpubpf_kernel kernel;
	__u32 what;  /* 1 access, 2 barrier */
	__u32 place; /* number of the access or barrier in its function, counted in code order */
	__u64 line;  /* source line, 0: unknown */
};
struct GPUBPF_ROW lanes {
	__u64 here; /* now */
	__u64 came;
	__u64 thread; /* linear number of the last thread that came here, in its launch */
};
GPUBPF_HASH(places, struct place, struct lanes, 4096);
GPUBPF_PER_THREAD(last, struct place) GPUBPF_SCRATCH;

static __always_inline struct lanes *find_or_create(struct place *key)
{
	struct lanes *l = bpf_map_lookup_elem(&places, key), none = {};

	if (l)
		return l;
	bpf_map_update_elem(&places, key, &none, BPF_NOEXIST); /* fails harmlessly if another lane inserts it first */
	return bpf_map_lookup_elem(&places, key);
}

/* Move the lane from its last place to this one. */
static __always_inline void move(struct gpubpf_ctx *ctx, __u32 what)
{
	struct place *was = bpf_map_lookup_elem(&last, &(__u32){ 0 }), key = { gpubpf_kernel_of(ctx), what };
	struct lanes *l = NULL;

	if (!was)
		return; /* the map `last` has no value for this thread: raise --threads */
	if (was->what && (l = bpf_map_lookup_elem(&places, was)))
		gpubpf_count(&l->here, -1);
	if (what) {
		key.place = ctx->place;
		key.line = ctx->line;
		l = find_or_create(&key);
	}
	*was = key;
	if (!what || !l)
		return;
	gpubpf_count(&l->here, 1);
	gpubpf_count(&l->came, 1);
	l->thread = ctx->global_linear;
}

SEC("gpu/mem_before/*")
int access(struct gpubpf_ctx *ctx)
{
	move(ctx, ACCESS);
	return 0;
}

SEC("gpu/barrier/*")
int waits(struct gpubpf_ctx *ctx)
{
	move(ctx, BARRIER);
	return 0;
}

SEC("gpu/exit/*")
int leaves(struct gpubpf_ctx *ctx)
{
	move(ctx, NOWHERE);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
