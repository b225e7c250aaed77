/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares partly known numbers: computes the result of a comparison, and the properties of the numbers that follow
 * from it.
 */
#include "core/verify/ranges/range.h"

static const uint8_t opposite[GPUBPF_NJMP] = {
	[GPUBPF_JEQ] = GPUBPF_JNE,   [GPUBPF_JNE] = GPUBPF_JEQ,   [GPUBPF_JGT] = GPUBPF_JLE,
	[GPUBPF_JLE] = GPUBPF_JGT,   [GPUBPF_JGE] = GPUBPF_JLT,   [GPUBPF_JLT] = GPUBPF_JGE,
	[GPUBPF_JSGT] = GPUBPF_JSLE, [GPUBPF_JSLE] = GPUBPF_JSGT, [GPUBPF_JSGE] = GPUBPF_JSLT,
	[GPUBPF_JSLT] = GPUBPF_JSGE,
};

static const uint8_t mirrored[GPUBPF_NJMP] = {
	[GPUBPF_JGT] = GPUBPF_JLT,
	[GPUBPF_JGE] = GPUBPF_JLE,
	[GPUBPF_JSGT] = GPUBPF_JSLT,
	[GPUBPF_JSGE] = GPUBPF_JSLE,
};

static bool disjoint(const struct bounds *a, const struct bounds *b)
{
	return a->umin > b->umax || a->umax < b->umin || a->smin > b->smax || a->smax < b->smin;
}

static int taken_eq(const struct scalar *a, const struct scalar *b, unsigned int width)
{
	struct tnum ta = tnum_cast(a->var, width * 8), tb = tnum_cast(b->var, width * 8);

	if (tnum_is_const(ta) && tnum_is_const(tb))
		return ta.value == tb.value;
	if (((ta.value ^ tb.value) & ~(ta.mask | tb.mask)) || disjoint(&a->w32, &b->w32) ||
	    (width == 8 && disjoint(&a->w64, &b->w64)))
		return 0;
	return -1;
}

static int taken_set(struct tnum a, struct tnum b)
{
	if (a.value & b.value)
		return 1;
	return tnum_max(a) & tnum_max(b) ? -1 : 0;
}

int scalar_taken(enum gpubpf_jmp_op op, const struct scalar *a, const struct scalar *b, unsigned int width)
{
	const struct bounds *x = width == 4 ? &a->w32 : &a->w64, *y = width == 4 ? &b->w32 : &b->w64;
	int eq;

	switch (op) {
	case GPUBPF_JEQ:
		return taken_eq(a, b, width);
	case GPUBPF_JNE:
		eq = taken_eq(a, b, width);
		return eq < 0 ? eq : !eq;
	case GPUBPF_JSET:
		return taken_set(tnum_cast(a->var, width * 8), tnum_cast(b->var, width * 8));
	case GPUBPF_JGT:
		return x->umin > y->umax ? 1 : x->umax <= y->umin ? 0 : -1;
	case GPUBPF_JGE:
		return x->umin >= y->umax ? 1 : x->umax < y->umin ? 0 : -1;
	case GPUBPF_JLT:
		return x->umax < y->umin ? 1 : x->umin >= y->umax ? 0 : -1;
	case GPUBPF_JLE:
		return x->umax <= y->umin ? 1 : x->umin > y->umax ? 0 : -1;
	case GPUBPF_JSGT:
		return x->smin > y->smax ? 1 : x->smax <= y->smin ? 0 : -1;
	case GPUBPF_JSGE:
		return x->smin >= y->smax ? 1 : x->smax < y->smin ? 0 : -1;
	case GPUBPF_JSLT:
		return x->smax < y->smin ? 1 : x->smin >= y->smax ? 0 : -1;
	case GPUBPF_JSLE:
		return x->smax <= y->smin ? 1 : x->smin > y->smax ? 0 : -1;
	default:
		return -1;
	}
}

static void meet(struct bounds *a, struct bounds *b)
{
	a->umin = b->umin = a->umin > b->umin ? a->umin : b->umin;
	a->umax = b->umax = a->umax < b->umax ? a->umax : b->umax;
	a->smin = b->smin = a->smin > b->smin ? a->smin : b->smin;
	a->smax = b->smax = a->smax < b->smax ? a->smax : b->smax;
}

/*
 * Assumes that the low `width` bytes of a and b are equal. The Linux kernel then uses only the intervals of that width
 * (regs_refine_cond_op() of kernel/bpf/verifier.c).
 */
static bool assume_eq(struct scalar *a, struct scalar *b, unsigned int width, bool kernel)
{
	uint64_t low = UINT64_MAX >> (64 - width * 8);
	struct tnum both;

	if (width == 4 || !kernel)
		meet(&a->w32, &b->w32);
	if (width == 8)
		meet(&a->w64, &b->w64);
	if (!tnum_intersect(tnum_cast(a->var, width * 8), tnum_cast(b->var, width * 8), &both))
		return false;
	a->var = (struct tnum){ (a->var.value & ~low) | both.value, (a->var.mask & ~low) | both.mask };
	b->var = (struct tnum){ (b->var.value & ~low) | both.value, (b->var.mask & ~low) | both.mask };
	return true;
}

/* Assumes that a is not v (sv is the same number, signed). Only a bound that equals v is moved. */
static void assume_ne(struct bounds *a, uint64_t v, int64_t sv)
{
	if (a->umin == a->umax || a->smin == a->smax)
		return;
	if (a->umin == v)
		a->umin++;
	if (a->umax == v)
		a->umax--;
	if (a->smin == sv)
		a->smin++;
	if (a->smax == sv)
		a->smax--;
}

static void assume_not_const(struct scalar *a, const struct scalar *b, unsigned int width)
{
	if (width == 4 && scalar_is_const32(b))
		assume_ne(&a->w32, (uint32_t)b->var.value, (int32_t)b->var.value);
	else if (width == 8 && scalar_is_const(b))
		assume_ne(&a->w64, b->var.value, (int64_t)b->var.value);
}

/*
 * Assumes that a & b is not zero (`set`) or zero, where b is known. If it is zero, the Linux kernel discards the
 * ranges.
 */
static void assume_set(struct scalar *a, const struct scalar *b, bool set, unsigned int width, bool kernel)
{
	struct tnum t = tnum_cast(b->var, width * 8);

	if (!tnum_is_const(t))
		return;
	if (!set && kernel) {
		bounds_full(&a->w64, 64);
		bounds_full(&a->w32, 32);
	}
	if (!set) {
		a->var.value &= ~t.value;
		a->var.mask &= ~t.value;
	} else if (t.value && !(t.value & (t.value - 1))) {
		a->var.value |= t.value;
		a->var.mask &= ~t.value;
	}
}

/* Assumes that a < b (`strict`) or a <= b. Returns false if no number is below b's maximum or above a's minimum. */
static bool assume_less(struct bounds *a, struct bounds *b, bool strict, bool sign)
{
	if (sign) {
		if (strict && (b->smax == INT64_MIN || a->smin == INT64_MAX))
			return false;
		a->smax = a->smax < b->smax - strict ? a->smax : b->smax - strict;
		b->smin = b->smin > a->smin + strict ? b->smin : a->smin + strict;
		return true;
	}
	if (strict && (!b->umax || a->umin == UINT64_MAX))
		return false;
	a->umax = a->umax < b->umax - strict ? a->umax : b->umax - strict;
	b->umin = b->umin > a->umin + strict ? b->umin : a->umin + strict;
	return true;
}

static bool assume_one(enum gpubpf_jmp_op op, struct scalar *a, struct scalar *b, unsigned int width, bool kernel)
{
	struct bounds *x = width == 4 ? &a->w32 : &a->w64, *y = width == 4 ? &b->w32 : &b->w64;

	switch (op) {
	case GPUBPF_JEQ:
		return assume_eq(a, b, width, kernel);
	case GPUBPF_JNE:
		assume_not_const(a, b, width);
		assume_not_const(b, a, width);
		return true;
	case GPUBPF_JLT:
	case GPUBPF_JLE:
		return assume_less(x, y, op == GPUBPF_JLT, false);
	case GPUBPF_JSLT:
	case GPUBPF_JSLE:
		return assume_less(x, y, op == GPUBPF_JSLT, true);
	default:
		return assume_one(mirrored[op], b, a, width, kernel);
	}
}

bool scalar_assume(enum gpubpf_jmp_op op, bool holds, struct scalar *a, struct scalar *b, unsigned int width, bool kernel)
{
	bool (*sync)(struct scalar *s) = kernel ? scalar_sync_kernel : scalar_sync;
	bool ok = true;

	if (op == GPUBPF_JSET) {
		bool b_known = tnum_is_const(tnum_cast(b->var, width * 8));

		assume_set(a, b, holds, width, kernel);
		if (!kernel || !b_known)
			assume_set(b, a, holds, width, kernel);
	} else {
		ok = assume_one(holds ? op : opposite[op], a, b, width, kernel);
	}
	return ok & sync(a) & sync(b);
}
