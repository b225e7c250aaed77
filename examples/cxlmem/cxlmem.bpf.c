/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slows down accesses to some of the application's allocations, as if their memory were behind a link such as CXL.mem.
 * Such an allocation is called far. An access to it takes longer by
 *
 *	latency * (1 if the access is random, else a fraction) * (1 + ramp * recent utilisation of the link)
 *
 * If the link needs longer to transfer all requested bytes, the access takes that long. The run time of this program is
 * part of the delay, so the delay cannot be shorter than the run time.
 */
#include <gpubpf/probe.h>

#define LATENCY_NS 2000
#define MB_S 32000
#define MOST_NS 500000
#define WINDOW 14 /* the link's utilisation is measured in windows of 2^14 ns (16 us) */
#define PLACES 8  /* number of access strides that are tracked per thread */

/* Settings of the user. A member that is 0 has the default, which is in parentheses. */
struct settings {
	__u64 off;                    /* 1: no allocation is far */
	__u64 least, most;            /* smallest and largest size of far allocations in bytes (1 MiB, unlimited) */
	/* numbers of the first and the last allocation that can be far, in order of allocation (all) */
	__u64 first, last;
	gpubpf_ns latency;            /* LATENCY_NS */
	__u64 sequential;             /* percent of the latency for accesses with a constant stride (25) */
	__u64 mb_s;                   /* throughput of the link in MB/s (MB_S) */
	__u64 ramp;                   /* additional latency in percent while the link is fully used (100) */
};
GPUBPF_ARRAY(settings, struct settings, 1);

struct GPUBPF_ROW accesses {
	__u64 accesses, random, bytes;
	gpubpf_ns waited;
};
GPUBPF_HASH(far, __u32, struct accesses, 4096); /* key: number of the allocation */

struct link {
	__u64 free;                 /* time in ps at which the link has transferred all requested bytes */
	__u64 window, bytes, share; /* current window, its bytes, and utilisation of the previous window in percent */
};
GPUBPF_ARRAY(links, struct link, 1) GPUBPF_SCRATCH;

struct lasts {
	struct {
		__u64 addr, stride;
	} at[PLACES];
};
GPUBPF_PER_THREAD(lasts, struct lasts) GPUBPF_SCRATCH;

static __always_inline __u64 or(__u64 given, __u64 usual)
{
	return given ? given : usual;
}

static __always_inline int is_far(const struct settings *s, const struct gpubpf_allocation *of)
{
	return !s->off && of->size >= or(s->least, 1 << 20) && of->size <= or(s->most, ~0ull) && of->number >= s->first &&
	       of->number <= or(s->last, ~0ull);
}

/*
 * Returns true if the access is random. It is not random if it is near the thread's last access at this place, or one
 * stride after it.
 */
static __always_inline int is_random(const struct gpubpf_ctx *ctx)
{
	struct lasts *l = bpf_map_lookup_elem(&lasts, &(__u32){ 0 });
	__u32 i = ctx->place % PLACES;
	__u64 stride;
	int even;

	if (!l)
		return 1;
	stride = ctx->mem.addr - l->at[i].addr;
	even = stride == l->at[i].stride || stride + 128 <= 256;
	l->at[i].addr = ctx->mem.addr;
	l->at[i].stride = stride;
	return !even;
}

/* Returns the utilisation of the link in the previous window, in percent. */
static __always_inline __u64 share(struct link *l, __u64 now, __u64 bytes, __u64 mb_s)
{
	__u64 window = now >> WINDOW, share;

	if (l->window != window) {
		share = l->window + 1 == window ? l->bytes * 100000 / (mb_s << WINDOW) : 0;
		l->share = share < 100 ? share : 100;
		l->window = window;
		l->bytes = 0;
	}
	gpubpf_count(&l->bytes, bytes);
	return l->share;
}

/* Returns the time in ns at which the link has transferred these bytes and all earlier ones. */
static __always_inline __u64 comes(struct link *l, __u64 now, __u64 bytes, __u64 mb_s)
{
	__u64 ps = bytes * 1000000 / mb_s, begins = gpubpf_fetch_add(&l->free, ps);

	if ((__s64)(begins - now * 1000) < 0) { /* the link was idle */
		__sync_val_compare_and_swap(&l->free, begins + ps, now * 1000 + ps);
		begins = now * 1000;
	}
	return now + (begins + ps - now * 1000) / 1000;
}

static __always_inline struct accesses *find_or_create(__u32 number)
{
	struct accesses *a = bpf_map_lookup_elem(&far, &number), none = {};

	if (a)
		return a;
	bpf_map_update_elem(&far, &number, &none, BPF_NOEXIST); /* fails harmlessly if another lane inserts it first */
	return bpf_map_lookup_elem(&far, &number);
}

static __always_inline void wait(const struct gpubpf_ctx *ctx, const struct settings *s, __u32 number, __u64 lanes, __u64 now)
{
	__u64 bytes = ctx->mem.bytes * lanes, random = is_random(ctx), mb_s = or(s->mb_s, MB_S), ns, until;
	struct link *l = bpf_map_lookup_elem(&links, &(__u32){ 0 });
	struct accesses *a = find_or_create(number);

	if (!l || !a)
		return;
	ns = or(s->latency, LATENCY_NS) * (random ? 100 : or(s->sequential, 25)) / 100;
	ns += ns * share(l, now, bytes, mb_s) * or(s->ramp, 100) / 10000;
	until = comes(l, now, bytes, mb_s);
	until = until > now + ns ? until : now + ns;
	gpubpf_count(&a->accesses, lanes);
	gpubpf_count(&a->random, random ? lanes : 0);
	gpubpf_count(&a->bytes, bytes);
	gpubpf_count(&a->waited, until - now);
	ns = until - bpf_ktime_get_ns();
	if ((__s64)ns <= 0)
		return;
	barrier_var(ns); /* hides the range of ns from the compiler, so that the check below remains for the verifier */
	gpubpf_delay(ns < MOST_NS ? ns : MOST_NS);
}

/*
 * Find the lanes of the warp that access far memory. The first of these lanes waits until the link has transferred the
 * bytes of all of them. The other lanes wait for the first lane.
 */
SEC("gpu/mem_before/*")
int access(struct gpubpf_ctx *ctx)
{
	struct settings *s = bpf_map_lookup_elem(&settings, &(__u32){ 0 });
	__u64 now = bpf_ktime_get_ns(), lanes, below = (1ull << bpf_get_lane_id()) - 1;
	struct gpubpf_allocation of;
	int is;

	if (!s)
		return 0;
	is = !gpubpf_allocation(ctx->mem.addr, &of) && is_far(s, &of);
	lanes = bpf_warp_ballot(is);
	if (is && !(lanes & below))
		wait(ctx, s, of.number, __builtin_popcountll(lanes), now);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
