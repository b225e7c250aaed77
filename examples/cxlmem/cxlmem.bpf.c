/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Some of the application's allocations as if they lay in far memory, behind a link such as CXL.mem: an access there takes
 * longer by
 *
 *	latency * (1 where it is random, else a share) * (1 + ramp * how much of the link was in use lately)
 *
 * and not less than until all bytes that were asked for before it, and its own, have come over the link. What this program
 * needs for itself is within that time, and is the least that it can add.
 */
#include <gpubpf/probe.h>

#define LATENCY_NS 2000
#define MB_S 32000
#define MOST_NS 500000
#define WINDOW 14 /* bits of ns in which the link's use is seen: 16 us */
#define PLACES 8  /* of a thread, whose strides are told apart */

/* What is 0 is as the comment says. */
struct settings {
	__u64 off;                    /* 1: nothing is far */
	__u64 least, most;            /* bytes of allocations that are far; 1 MiB, and without end */
	__u64 first, last;            /* their numbers, in the order in which they were made; all */
	gpubpf_ns latency;            /* LATENCY_NS */
	__u64 sequential;             /* percent of it where accesses go on by even steps; 25 */
	__u64 mb_s;                   /* of the link; MB_S */
	__u64 ramp;                   /* percent more latency when the link is in use all the time; 100 */
};
GPUBPF_ARRAY(settings, struct settings, 1);

struct GPUBPF_ROW accesses {
	__u64 accesses, random, bytes;
	gpubpf_ns waited;
};
GPUBPF_HASH(far, __u32, struct accesses, 4096); /* by number of the allocation */

struct link {
	__u64 free;                 /* ps: when all that was asked for has come */
	__u64 window, bytes, share; /* the window that is now, what came in it, and percent of the link in the one before */
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

/* Neither beside the place's last access nor as far from it as that was from the one before. */
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

/* Percent of the link that were in use in the window before this one. */
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

/* When so many bytes have come over the link, in ns. */
static __always_inline __u64 comes(struct link *l, __u64 now, __u64 bytes, __u64 mb_s)
{
	__u64 ps = bytes * 1000000 / mb_s, begins = gpubpf_fetch_add(&l->free, ps);

	if ((__s64)(begins - now * 1000) < 0) { /* nothing was on its way */
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
	bpf_map_update_elem(&far, &number, &none, BPF_NOEXIST); /* another lane may be first: also fine */
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
	barrier_var(ns); /* which the compiler knows to be small, and the verifier does not */
	gpubpf_delay(ns < MOST_NS ? ns : MOST_NS);
}

/* Of a warp the first lane waits for what all of them ask for, and the others for it. */
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
