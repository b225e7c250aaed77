/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes intervals of numbers. Combines the interval of a number with its tristate number, so that each tightens the
 * other. range_alu.c has arithmetic, range_cmp.c comparisons.
 */
#include "core/verify/ranges/range.h"

#include <string.h>

static uint64_t ones(unsigned int bits)
{
	return UINT64_MAX >> (64 - bits);
}

void bounds_full(struct bounds *b, unsigned int bits)
{
	b->umin = 0;
	b->umax = ones(bits);
	b->smax = (int64_t)(ones(bits) >> 1);
	b->smin = -b->smax - 1;
}

static uint64_t umax64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t umin64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Tightens the signed and the unsigned interval by each other. Both are split at the sign bit: within each half, the
 * signed and the unsigned order are the same, so the intervals can be intersected.
 */
bool bounds_reduce(struct bounds *b, unsigned int bits)
{
	uint64_t all = ones(bits), half = all >> 1;
	uint64_t plo = umax64(b->umin, b->smin > 0 ? (uint64_t)b->smin : 0);
	uint64_t phi = b->smax < 0 ? 0 : umin64(umin64(b->umax, half), (uint64_t)b->smax);
	uint64_t nlo = umax64(umax64(b->umin, half + 1), b->smin < 0 ? (uint64_t)b->smin & all : 0);
	uint64_t nhi = umin64(b->umax, b->smax < 0 ? (uint64_t)b->smax & all : all);
	bool pos = b->smax >= 0 && plo <= phi, neg = b->smin < 0 && nlo <= nhi;

	if (!pos && !neg)
		return false;
	b->umin = pos ? plo : nlo;
	b->umax = neg ? nhi : phi;
	b->smin = neg ? (int64_t)(nlo | ~all) : (int64_t)plo;
	b->smax = pos ? (int64_t)phi : (int64_t)(nhi | ~all);
	return true;
}

void scalar_unknown(struct scalar *s)
{
	s->var = TNUM_UNKNOWN;
	bounds_full(&s->w64, 64);
	bounds_full(&s->w32, 32);
}

static void bounds_const(struct bounds *b, uint64_t u, int64_t s)
{
	*b = (struct bounds){ u, u, s, s };
}

void scalar_const(struct scalar *s, uint64_t v)
{
	s->var = tnum_const(v);
	bounds_const(&s->w64, v, (int64_t)v);
	bounds_const(&s->w32, (uint32_t)v, (int32_t)v);
}

void scalar_range(struct scalar *s, uint64_t umin, uint64_t umax)
{
	scalar_unknown(s);
	s->w64.umin = umin;
	s->w64.umax = umax;
	scalar_sync(s);
}

static void clip_u(struct bounds *b, uint64_t lo, uint64_t hi)
{
	b->umin = umax64(b->umin, lo);
	b->umax = umin64(b->umax, hi);
}

static void clip_s(struct bounds *b, int64_t lo, int64_t hi)
{
	b->smin = b->smin > lo ? b->smin : lo;
	b->smax = b->smax < hi ? b->smax : hi;
}

static void bounds_from_tnum(struct bounds *b, struct tnum t, unsigned int bits)
{
	uint64_t sign = 1ull << (bits - 1);

	t = tnum_cast(t, bits);
	clip_u(b, t.value, tnum_max(t));
	clip_s(b, (int64_t)tnum_sext(tnum_const(t.value | (t.mask & sign)), bits).value,
	       (int64_t)tnum_sext(tnum_const(t.value | (t.mask & ~sign)), bits).value);
}

/*
 * Derives the interval of the low 32 bits from a 64-bit interval shorter than 2^32. The low halves of such an interval
 * are consecutive modulo 2^32.
 */
static void clip32_arc(struct bounds *w32, uint64_t lo, uint64_t hi)
{
	if (hi - lo > UINT32_MAX)
		return;
	if ((uint32_t)lo <= (uint32_t)hi)
		clip_u(w32, (uint32_t)lo, (uint32_t)hi);
	if ((int32_t)lo <= (int32_t)hi)
		clip_s(w32, (int32_t)lo, (int32_t)hi);
}

/*
 * Tightens the 64-bit minimum: a number whose upper half is that of the minimum is at least this upper half plus the
 * smallest low half. Tightens the maximum in the same way.
 */
static void clip64_from_32(struct scalar *s)
{
	const uint64_t upper = ~(uint64_t)UINT32_MAX;
	struct bounds *w = &s->w64, *h = &s->w32;

	clip_u(w, (w->umin & upper) | h->umin, (w->umax & upper) | h->umax);
	clip_s(w, (int64_t)(((uint64_t)w->smin & upper) | h->umin), (int64_t)(((uint64_t)w->smax & upper) | h->umax));
	if (w->smin >= INT32_MIN && w->smax <= INT32_MAX)
		clip_s(w, h->smin, h->smax);
}

static bool reduce_bounds(struct scalar *s)
{
	clip32_arc(&s->w32, s->w64.umin, s->w64.umax);
	clip32_arc(&s->w32, (uint64_t)s->w64.smin, (uint64_t)s->w64.smax);
	if (!bounds_reduce(&s->w32, 32) || !bounds_reduce(&s->w64, 64))
		return false;
	clip64_from_32(s);
	return bounds_reduce(&s->w64, 64);
}

static bool reduce_tnum(struct scalar *s)
{
	struct tnum low;

	if (!tnum_intersect(s->var, tnum_range(s->w64.umin, s->w64.umax), &s->var) ||
	    !tnum_intersect(tnum_cast(s->var, 32), tnum_range(s->w32.umin, s->w32.umax), &low))
		return false;
	s->var.value = (s->var.value & ~(uint64_t)UINT32_MAX) | low.value;
	s->var.mask = (s->var.mask & ~(uint64_t)UINT32_MAX) | low.mask;
	return true;
}

/* Makes the number a constant if only one number in the interval has the known bits. */
void scalar_fold_const(struct scalar *s)
{
	uint64_t lo, hi;

	if (!scalar_is_const(s) && tnum_at_least(s->var, s->w64.umin, &lo) && tnum_at_most(s->var, s->w64.umax, &hi) &&
	    lo == hi)
		scalar_const(s, lo);
}

bool scalar_sync(struct scalar *s)
{
	bool ok = true;

	for (int round = 0; ok && round < 2; round++) {
		bounds_from_tnum(&s->w64, s->var, 64);
		bounds_from_tnum(&s->w32, s->var, 32);
		ok = reduce_bounds(s) && reduce_bounds(s) && reduce_tnum(s);
	}
	if (ok) {
		bounds_from_tnum(&s->w64, s->var, 64);
		bounds_from_tnum(&s->w32, s->var, 32);
		ok = bounds_reduce(&s->w64, 64) && bounds_reduce(&s->w32, 32);
	}
	if (!ok)
		scalar_unknown(s);
	else
		scalar_fold_const(s);
	return ok;
}

bool scalar_is_const32(const struct scalar *s)
{
	return !(uint32_t)s->var.mask;
}

bool scalar_equal(const struct scalar *a, const struct scalar *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static bool bounds_within(const struct bounds *in, const struct bounds *out)
{
	return in->umin >= out->umin && in->umax <= out->umax && in->smin >= out->smin && in->smax <= out->smax;
}

bool scalar_within(const struct scalar *in, const struct scalar *out)
{
	return tnum_within(in->var, out->var) && bounds_within(&in->w64, &out->w64) && bounds_within(&in->w32, &out->w32);
}

void scalar_zext(struct scalar *s, unsigned int bytes)
{
	unsigned int bits = bytes * 8;
	uint64_t upper = bits == 64 ? 0 : ~ones(bits);

	if (bytes == 8)
		return;
	s->var = tnum_cast(s->var, bits);
	/* both bounds have the same removed bits, so the truncated numbers have the same order */
	if (bits < 32 || (s->w64.umin & upper) != (s->w64.umax & upper)) {
		bounds_full(&s->w64, 64);
	} else {
		s->w64.umin &= ~upper;
		s->w64.umax &= ~upper;
		s->w64.smin = INT64_MIN;
		s->w64.smax = INT64_MAX;
	}
	if (bits < 32) {
		if ((s->w32.umin & upper) != (s->w32.umax & upper)) {
			bounds_full(&s->w32, 32);
		} else {
			s->w32.umin &= ~upper;
			s->w32.umax &= ~upper;
			s->w32.smin = INT32_MIN;
			s->w32.smax = INT32_MAX;
		}
	}
	clip_u(&s->w64, 0, s->w32.umax);
	scalar_sync(s);
}

void scalar_sext(struct scalar *s, unsigned int bytes)
{
	unsigned int bits = bytes * 8;
	int64_t hi = (int64_t)(ones(bits) >> 1), lo = -hi - 1;
	bool fits = s->w64.smin >= lo && s->w64.smax <= hi;
	struct bounds low = s->w32;

	if (bytes == 8 || fits)
		return;
	s->var = tnum_sext(s->var, bits);
	bounds_full(&s->w64, 64);
	if (bits < 32)
		bounds_full(&s->w32, 32);
	else
		clip_s(&s->w64, low.smin, low.smax);
	clip_s(&s->w64, lo, hi);
	if (bits < 32)
		clip_s(&s->w32, lo, hi);
	scalar_sync(s);
}
