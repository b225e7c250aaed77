/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Derives ranges in the same steps as the Linux kernel's verifier (6.18), so that they lose precision in the same
 * cases. Used only for verdicts on Linux kernel programs. If the Linux kernel concludes less than scalar_sync() and
 * refuses a program, this verifier must refuse it too. Source: Documentation/bpf/verifier.rst and the Linux kernel's
 * behaviour, observed through its log.
 */
#include "core/verify/ranges/range.h"

static void raise_u(struct bounds *b, uint64_t lo, uint64_t hi)
{
	b->umin = b->umin > lo ? b->umin : lo;
	b->umax = b->umax < hi ? b->umax : hi;
}

static void raise_s(struct bounds *b, int64_t lo, int64_t hi)
{
	b->smin = b->smin > lo ? b->smin : lo;
	b->smax = b->smax < hi ? b->smax : hi;
}

static void from_bits(struct scalar *s)
{
	struct tnum t = s->var, low = tnum_cast(t, 32);
	const uint64_t sign = 1ull << 63, sign32 = 1ull << 31;

	raise_u(&s->w64, t.value, tnum_max(t));
	raise_s(&s->w64, (int64_t)(t.value | (t.mask & sign)), (int64_t)(t.value | (t.mask & ~sign)));
	raise_u(&s->w32, low.value, tnum_max(low));
	raise_s(&s->w32, (int32_t)(low.value | (low.mask & sign32)), (int32_t)(low.value | (low.mask & ~sign32)));
}

static void low_half_of(struct bounds *w32, uint64_t lo, uint64_t hi)
{
	bool same = lo >> 32 == hi >> 32;
	bool next = (uint32_t)(lo >> 32) + 1 == (uint32_t)(hi >> 32) && (int32_t)lo < 0 && (int32_t)hi >= 0;

	if (same && (uint32_t)lo <= (uint32_t)hi)
		raise_u(w32, (uint32_t)lo, (uint32_t)hi);
	if ((same && (int32_t)lo <= (int32_t)hi) || next)
		raise_s(w32, (int32_t)lo, (int32_t)hi);
}

static void within_32(struct bounds *b)
{
	if ((int32_t)b->umin <= (int32_t)b->umax)
		raise_s(b, (int32_t)b->umin, (int32_t)b->umax);
	if ((uint32_t)b->smin <= (uint32_t)b->smax)
		raise_u(b, (uint32_t)b->smin, (uint32_t)b->smax);
}

static void within_64(struct bounds *b)
{
	if ((int64_t)b->umin <= (int64_t)b->umax)
		raise_s(b, (int64_t)b->umin, (int64_t)b->umax);
	if ((uint64_t)b->smin <= (uint64_t)b->smax) {
		raise_u(b, (uint64_t)b->smin, (uint64_t)b->smax);
	} else if (b->umax < (uint64_t)b->smin) {
		b->smin = (int64_t)b->umin;
		raise_u(b, 0, (uint64_t)b->smax);
	} else if ((uint64_t)b->smax < b->umin) {
		b->smax = (int64_t)b->umax;
		raise_u(b, (uint64_t)b->smin, UINT64_MAX);
	}
}

/*
 * Applies the Linux kernel's last step: it replaces the 64-bit range by the 32-bit range, even if the 32-bit range is
 * wider.
 */
static void between(struct scalar *s)
{
	const uint64_t upper = ~(uint64_t)UINT32_MAX;
	struct bounds *w = &s->w64, *h = &s->w32;

	raise_u(w, (w->umin & upper) | h->umin, (w->umax & upper) | h->umax);
	raise_s(w, (int64_t)(((uint64_t)w->smin & upper) | h->umin), (int64_t)(((uint64_t)w->smax & upper) | h->umax));
	if (h->smin >= 0 && w->smin >= INT32_MIN && w->smax <= INT32_MAX) {
		*w = (struct bounds){ (uint64_t)h->smin, (uint64_t)h->smax, h->smin, h->smax };
		tnum_intersect(s->var, tnum_range(w->umin, w->umax), &s->var);
	}
}

static bool to_bits(struct scalar *s)
{
	const uint64_t upper = ~(uint64_t)UINT32_MAX;
	struct tnum low;

	if (!tnum_intersect(s->var, tnum_range(s->w64.umin, s->w64.umax), &s->var) ||
	    !tnum_intersect(tnum_cast(s->var, 32), tnum_range(s->w32.umin, s->w32.umax), &low))
		return false;
	s->var = (struct tnum){ (s->var.value & upper) | low.value, (s->var.mask & upper) | low.mask };
	return true;
}

static bool consistent(const struct bounds *b)
{
	return b->umin <= b->umax && b->smin <= b->smax;
}

bool scalar_sync_kernel(struct scalar *s)
{
	bool ok;

	from_bits(s);
	for (int round = 0; round < 3; round++) {
		low_half_of(&s->w32, s->w64.umin, s->w64.umax);
		low_half_of(&s->w32, (uint64_t)s->w64.smin, (uint64_t)s->w64.smax);
		within_32(&s->w32);
		within_64(&s->w64);
		between(s);
	}
	ok = consistent(&s->w64) && consistent(&s->w32) && to_bits(s);
	from_bits(s);
	if (!ok || !consistent(&s->w64) || !consistent(&s->w32)) {
		scalar_unknown(s);
		return false;
	}
	if (tnum_is_const(s->var))
		scalar_const(s, s->var.value);
	scalar_fold_const(s);
	return true;
}

static void drop_unsigned(struct bounds *b, bool lost)
{
	b->umin = lost ? 0 : b->umin;
	b->umax = lost ? UINT64_MAX : b->umax;
}

/*
 * For a left shift, the Linux kernel keeps a signed range only for a sign extension (<<= 32). It keeps no unsigned
 * range that might lose its top bit (__scalar64_min_max_lsh() of kernel/bpf/verifier.c).
 */
static void kernel_lsh(struct scalar *s, uint64_t n)
{
	drop_unsigned(&s->w64, s->w64.umax > 1ull << (63 - n));
	s->w64.smin = INT64_MIN;
	s->w64.smax = INT64_MAX;
	if (n == 32)
		return;
	if (n > 31 || s->w32.umax > 1u << (31 - n))
		bounds_full(&s->w32, 32);
	s->w32.smin = INT32_MIN;
	s->w32.smax = INT32_MAX;
}

/* For a multiplication, the Linux kernel keeps no range that might overflow (scalar_min_max_mul()). */
static void kernel_mul(struct scalar *d, const struct scalar *s)
{
	int64_t a, b, c, e;

	if (__builtin_mul_overflow(d->w64.umax, s->w64.umax, (uint64_t *)&a))
		drop_unsigned(&d->w64, true);
	if (d->w32.umax * s->w32.umax > UINT32_MAX)
		d->w32.umin = 0, d->w32.umax = UINT32_MAX;
	if (__builtin_mul_overflow(d->w64.smin, s->w64.smin, &a) || __builtin_mul_overflow(d->w64.smin, s->w64.smax, &b) ||
	    __builtin_mul_overflow(d->w64.smax, s->w64.smin, &c) || __builtin_mul_overflow(d->w64.smax, s->w64.smax, &e))
		d->w64.smin = INT64_MIN, d->w64.smax = INT64_MAX;
	a = d->w32.smin * s->w32.smin, b = d->w32.smin * s->w32.smax;
	c = d->w32.smax * s->w32.smin, e = d->w32.smax * s->w32.smax;
	if (a != (int32_t)a || b != (int32_t)b || c != (int32_t)c || e != (int32_t)e)
		d->w32.smin = INT32_MIN, d->w32.smax = INT32_MAX;
}

void scalar_lose_precision(enum gpubpf_alu_op op, struct scalar *d, const struct scalar *s)
{
	if (op == GPUBPF_LSH && !scalar_is_const(d))
		kernel_lsh(d, s->var.value);
	if (op == GPUBPF_MUL && !(scalar_is_const(d) && scalar_is_const(s)))
		kernel_mul(d, s);
}
