/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delays some accesses of memory, and some lanes after barriers. A seed selects which. The same seed and launches give
 * the same delays at the same places, and another seed gives other delays. This exposes code whose result depends on
 * the order of lanes.
 */
#include <gpubpf/probe.h>

#define MOST_NS 20000

struct settings {
	__u64 seed;
	__u64 one_in; /* one of this many visits of a place is delayed; 0: 16 */
	__u64 ns;     /* longest delay in ns, at most 20000; 0: 2000 */
};
GPUBPF_ARRAY(settings, struct settings, 1);

struct GPUBPF_ROW waits {
	__u64 visits, delays;
	gpubpf_ns waited;
};
GPUBPF_HASH(kernels, gpubpf_kernel, struct waits, 256);
GPUBPF_PER_THREAD(visits, __u64) GPUBPF_SCRATCH;

/* Returns a hash of x (the last step of splitmix64). */
static __always_inline __u64 mix(__u64 x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static __always_inline struct waits *find_or_create(gpubpf_kernel *key)
{
	struct waits *w = bpf_map_lookup_elem(&kernels, key), none = {};

	if (w)
		return w;
	bpf_map_update_elem(&kernels, key, &none, BPF_NOEXIST); /* fails harmlessly if another lane inserts it first */
	return bpf_map_lookup_elem(&kernels, key);
}

static __always_inline void shake(struct gpubpf_ctx *ctx, __u64 kind)
{
	struct settings *s = bpf_map_lookup_elem(&settings, &(__u32){ 0 });
	__u64 *visit = bpf_map_lookup_elem(&visits, &(__u32){ 0 });
	gpubpf_kernel key = gpubpf_kernel_of(ctx);
	struct waits *w = find_or_create(&key);
	__u64 chance, one_in, most, ns;

	if (!s || !visit || !w)
		return;
	one_in = s->one_in ? s->one_in : 16;
	most = s->ns ? s->ns : 2000;
	most = most < MOST_NS ? most : MOST_NS;
	chance = mix(mix(mix(s->seed) + (ctx->global_linear << 32 | kind << 24 | ctx->place)) + ++*visit);
	gpubpf_count(&w->visits, 1);
	if (chance % one_in)
		return;
	ns = (chance >> 32) % (most + 1);
	barrier_var(ns); /* hides the range of ns from the compiler, so that the check below remains for the verifier */
	ns = ns < MOST_NS ? ns : MOST_NS;
	gpubpf_count(&w->delays, 1);
	gpubpf_count(&w->waited, gpubpf_delay(ns));
}

SEC("gpu/mem_before.all/*")
int access(struct gpubpf_ctx *ctx)
{
	shake(ctx, 0);
	return 0;
}

SEC("gpu/barrier_exit/*")
int goes_on(struct gpubpf_ctx *ctx)
{
	shake(ctx, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
