/* SPDX-License-Identifier: Apache-2.0 */
/* Computes arithmetic on partly known numbers, with the semantics of RFC 9669 4.1. */
#include "core/verify/ranges/range.h"

typedef __int128 wide;

/*
 * Stores the interval of a result that lies in [lo, hi] before reduction modulo 2^bits. The interval is stored only if
 * no number in it wraps differently from the others, that is if [lo, hi] crosses no multiple of 2^bits. For signed
 * numbers, these multiples are shifted by half.
 */
static void set_unsigned(struct bounds *out, unsigned __int128 lo, unsigned __int128 hi, unsigned int bits)
{
	uint64_t all = UINT64_MAX >> (64 - bits);

	if (lo >> bits != hi >> bits)
		return;
	out->umin = (uint64_t)lo & all;
	out->umax = (uint64_t)hi & all;
}

static void set_signed(struct bounds *out, wide lo, wide hi, unsigned int bits)
{
	wide half = (wide)1 << (bits - 1), turn = (lo + half) >> bits;

	if (turn != (hi + half) >> bits)
		return;
	out->smin = (int64_t)(lo - turn * ((wide)1 << bits));
	out->smax = (int64_t)(hi - turn * ((wide)1 << bits));
}

static void bounds_mul(struct bounds *out, const struct bounds *a, const struct bounds *b, unsigned int bits)
{
	wide corner[4] = {
		(wide)a->smin * b->smin, (wide)a->smin * b->smax, (wide)a->smax * b->smin, (wide)a->smax * b->smax,
	}, lo = corner[0], hi = corner[0];

	for (int i = 1; i < 4; i++) {
		lo = corner[i] < lo ? corner[i] : lo;
		hi = corner[i] > hi ? corner[i] : hi;
	}
	set_signed(out, lo, hi, bits);
	set_unsigned(out, (unsigned __int128)a->umin * b->umin, (unsigned __int128)a->umax * b->umax, bits);
}

void bounds_alu(enum gpubpf_alu_op op, struct bounds *out, const struct bounds *a, const struct bounds *b, unsigned int bits)
{
	/* 2^bits; added below so that differences are positive */
	const unsigned __int128 turn = (unsigned __int128)1 << bits;
	struct bounds r;

	bounds_full(&r, bits);
	switch (op) {
	case GPUBPF_ADD:
		set_unsigned(&r, (unsigned __int128)a->umin + b->umin, (unsigned __int128)a->umax + b->umax, bits);
		set_signed(&r, (wide)a->smin + b->smin, (wide)a->smax + b->smax, bits);
		break;
	case GPUBPF_SUB:
		set_unsigned(&r, turn + a->umin - b->umax, turn + a->umax - b->umin, bits);
		set_signed(&r, (wide)a->smin - b->smax, (wide)a->smax - b->smin, bits);
		break;
	case GPUBPF_MUL:
		bounds_mul(&r, a, b, bits);
		break;
	default:
		break;
	}
	bounds_reduce(&r, bits);
	*out = r;
}

static uint64_t divide(bool sign, bool mod, uint64_t d, uint64_t s, unsigned int width)
{
	if (!s)
		return mod ? d : 0;
	if (!sign)
		return mod ? d % s : d / s;
	if (width == 4) {
		int64_t a = (int32_t)d, b = (int32_t)s;

		return (uint32_t)(mod ? a % b : a / b);
	}
	if ((int64_t)s == -1)
		return mod ? 0 : -d;
	return (uint64_t)(mod ? (int64_t)d % (int64_t)s : (int64_t)d / (int64_t)s);
}

uint64_t alu_concrete(enum gpubpf_alu_op op, uint64_t d, uint64_t s, unsigned int width)
{
	unsigned int n = s & (width * 8 - 1);
	uint64_t r;

	if (width == 4) {
		d = (uint32_t)d;
		s = (uint32_t)s;
	}
	switch (op) {
	case GPUBPF_ADD:
		r = d + s;
		break;
	case GPUBPF_SUB:
		r = d - s;
		break;
	case GPUBPF_MUL:
		r = d * s;
		break;
	case GPUBPF_OR:
		r = d | s;
		break;
	case GPUBPF_AND:
		r = d & s;
		break;
	case GPUBPF_XOR:
		r = d ^ s;
		break;
	case GPUBPF_LSH:
		r = d << n;
		break;
	case GPUBPF_RSH:
		r = d >> n;
		break;
	case GPUBPF_ARSH:
		r = width == 4 ? (uint64_t)((int32_t)d >> n) : (uint64_t)((int64_t)d >> n);
		break;
	case GPUBPF_NEG:
		r = -d;
		break;
	case GPUBPF_MOV:
		r = s;
		break;
	case GPUBPF_DIV:
		r = divide(false, false, d, s, width);
		break;
	case GPUBPF_MOD:
		r = divide(false, true, d, s, width);
		break;
	case GPUBPF_SDIV:
		r = divide(true, false, d, s, width);
		break;
	case GPUBPF_SMOD:
		r = divide(true, true, d, s, width);
		break;
	default:
		return 0;
	}
	return width == 4 ? (uint32_t)r : r;
}

/*
 * Shifts left by n. The interval is kept if all its numbers have the same shifted-out bits. A shift by 32 uses the
 * signed 32-bit interval, because compilers sign-extend by such a shift (<<= 32, s>>= 32).
 */
static void shift_left(struct scalar *d, unsigned int n)
{
	struct bounds w64 = d->w64, low = d->w32;

	d->var = tnum_lsh(d->var, n);
	bounds_full(&d->w64, 64);
	bounds_full(&d->w32, 32);
	set_unsigned(&d->w64, (unsigned __int128)w64.umin << n, (unsigned __int128)w64.umax << n, 64);
	set_signed(&d->w64, (wide)w64.smin * ((wide)1 << n), (wide)w64.smax * ((wide)1 << n), 64);
	if (n == 32) {
		d->w64.smin = low.smin * (1ll << 32);
		d->w64.smax = low.smax * (1ll << 32);
	}
	if (n < 32) {
		set_unsigned(&d->w32, (unsigned __int128)low.umin << n, (unsigned __int128)low.umax << n, 32);
		set_signed(&d->w32, (wide)low.smin * ((wide)1 << n), (wide)low.smax * ((wide)1 << n), 32);
	}
}

static void shift_right(struct scalar *d, unsigned int n, bool arithmetic)
{
	struct bounds w64 = d->w64;

	d->var = arithmetic ? tnum_arsh(d->var, n, 64) : tnum_rsh(d->var, n);
	bounds_full(&d->w64, 64);
	bounds_full(&d->w32, 32);
	if (arithmetic) {
		d->w64.smin = w64.smin >> n;
		d->w64.smax = w64.smax >> n;
	} else {
		d->w64.umin = w64.umin >> n;
		d->w64.umax = w64.umax >> n;
	}
}

static void shift32(enum gpubpf_alu_op op, struct scalar *d, unsigned int n)
{
	struct bounds low = d->w32;
	struct tnum t = tnum_cast(d->var, 32);

	bounds_full(&d->w32, 32);
	switch (op) {
	case GPUBPF_LSH:
		d->var = tnum_lsh(t, n);
		set_unsigned(&d->w32, (unsigned __int128)low.umin << n, (unsigned __int128)low.umax << n, 32);
		set_signed(&d->w32, (wide)low.smin * ((wide)1 << n), (wide)low.smax * ((wide)1 << n), 32);
		break;
	case GPUBPF_RSH:
		d->var = tnum_rsh(t, n);
		d->w32.umin = low.umin >> n;
		d->w32.umax = low.umax >> n;
		break;
	default:
		d->var = tnum_arsh(t, n, 32);
		d->w32.smin = low.smin >> n;
		d->w32.smax = low.smax >> n;
	}
}

static void zero_extended(struct scalar *d)
{
	d->var = tnum_cast(d->var, 32);
	bounds_full(&d->w64, 64);
	d->w64.umin = d->w32.umin;
	d->w64.umax = d->w32.umax;
}

/*
 * Divides unsigned numbers. A quotient is largest for the largest dividend and the smallest divisor. A remainder is
 * below the divisor, and at most the dividend. With divisor 0 the quotient is 0 and the remainder the dividend (RFC 9669
 * 4.1).
 */
static void divide_unsigned(enum gpubpf_alu_op op, struct scalar *d, const struct bounds *a, const struct bounds *s)
{
	uint64_t lo = a->umin, hi = a->umax, least = s->umin ? s->umin : 1;

	if (op == GPUBPF_DIV)
		scalar_range(d, s->umin ? lo / s->umax : 0, s->umax ? hi / least : 0);
	else if (hi < s->umin || !s->umax)
		scalar_range(d, lo, hi);
	else
		scalar_range(d, 0, s->umin && s->umax <= hi ? s->umax - 1 : hi);
}

/* Sets d to the signed range, of the width of the operation. */
static void set_number_range(struct scalar *d, int64_t lo, int64_t hi, unsigned int width)
{
	struct bounds *b = width == 4 ? &d->w32 : &d->w64;

	scalar_unknown(d);
	b->smin = lo;
	b->smax = hi;
	if (width == 4) {
		d->var = tnum_cast(d->var, 32);
		scalar_sync(d);
		zero_extended(d);
	}
	scalar_sync(d);
}

/*
 * Divides signed numbers by a constant other than 0. Both results round towards 0: the quotient grows or falls with the
 * dividend, and the remainder has the dividend's sign. Returns false if the smallest number is divided by -1, which
 * overflows.
 */
static bool divide_signed(enum gpubpf_alu_op op, struct scalar *d, const struct bounds *a, int64_t s, unsigned int width)
{
	int64_t least = width == 4 ? INT32_MIN : INT64_MIN, lo = a->smin, hi = a->smax;
	int64_t most = s == INT64_MIN ? INT64_MAX : (s < 0 ? -s : s) - 1; /* maximum magnitude of a remainder */

	if (op == GPUBPF_SDIV) {
		if (s == -1 && lo == least)
			return false;
		set_number_range(d, s < 0 ? hi / s : lo / s, s < 0 ? lo / s : hi / s, width);
		return true;
	}
	lo = lo >= 0 ? (hi <= most ? lo : 0) : lo < -most ? -most : lo;
	hi = a->smax <= 0 ? (a->smin >= -most ? a->smax : 0) : hi > most ? most : hi;
	set_number_range(d, lo, hi, width);
	return true;
}

/* Divides numbers. Returns false if nothing is known of the result. */
static bool divide_range(enum gpubpf_alu_op op, struct scalar *d, const struct scalar *s, unsigned int width)
{
	struct bounds a = width == 4 ? d->w32 : d->w64, by = width == 4 ? s->w32 : s->w64;

	if (op == GPUBPF_DIV || op == GPUBPF_MOD) {
		divide_unsigned(op, d, &a, &by);
		return true;
	}
	if (by.smin != by.smax)
		return false;
	if (by.smin)
		return divide_signed(op, d, &a, by.smin, width);
	if (op == GPUBPF_SDIV)
		scalar_const(d, 0);
	else if (width == 4)
		scalar_zext(d, 4);
	return true;
}

static struct tnum tnum_alu(enum gpubpf_alu_op op, struct tnum a, struct tnum b)
{
	switch (op) {
	case GPUBPF_ADD:
		return tnum_add(a, b);
	case GPUBPF_SUB:
		return tnum_sub(a, b);
	case GPUBPF_MUL:
		return tnum_mul(a, b);
	case GPUBPF_AND:
		return tnum_and(a, b);
	case GPUBPF_OR:
		return tnum_or(a, b);
	case GPUBPF_XOR:
		return tnum_xor(a, b);
	default:
		return TNUM_UNKNOWN;
	}
}

/*
 * Limits the result of a & b to at most each operand, or of a | b to at least each operand. The tnum provides tighter
 * bounds.
 */
static void bitwise_bounds(enum gpubpf_alu_op op, struct bounds *d, const struct bounds *s, unsigned int bits)
{
	struct bounds r;

	bounds_full(&r, bits);
	if (op == GPUBPF_AND)
		r.umax = d->umax < s->umax ? d->umax : s->umax;
	else if (op == GPUBPF_OR)
		r.umin = d->umin > s->umin ? d->umin : s->umin;
	*d = r;
}

static bool is_shift(enum gpubpf_alu_op op)
{
	return op == GPUBPF_LSH || op == GPUBPF_RSH || op == GPUBPF_ARSH;
}

static void alu_unknown(struct scalar *d, unsigned int width)
{
	scalar_unknown(d);
	if (width == 4)
		scalar_zext(d, 4);
}

static void alu_shift(enum gpubpf_alu_op op, struct scalar *d, unsigned int n, unsigned int width)
{
	if (width == 4)
		shift32(op, d, n);
	else if (op == GPUBPF_LSH)
		shift_left(d, n);
	else
		shift_right(d, n, op == GPUBPF_ARSH);
}

static void alu_plain(enum gpubpf_alu_op op, struct scalar *d, const struct scalar *s)
{
	struct scalar a = *d;

	d->var = tnum_alu(op, a.var, s->var);
	if (op == GPUBPF_ADD || op == GPUBPF_SUB || op == GPUBPF_MUL) {
		bounds_alu(op, &d->w64, &a.w64, &s->w64, 64);
		bounds_alu(op, &d->w32, &a.w32, &s->w32, 32);
	} else {
		bitwise_bounds(op, &d->w64, &s->w64, 64);
		bitwise_bounds(op, &d->w32, &s->w32, 32);
	}
}

void scalar_alu(enum gpubpf_alu_op op, struct scalar *d, const struct scalar *s, unsigned int width)
{
	struct scalar zero;
	bool s_known = width == 4 ? scalar_is_const32(s) : scalar_is_const(s);
	bool d_known = width == 4 ? scalar_is_const32(d) : scalar_is_const(d);

	if (op == GPUBPF_NEG) {
		scalar_const(&zero, 0);
		scalar_alu(GPUBPF_SUB, &zero, d, width);
		*d = zero;
		return;
	}
	if (s_known && d_known) {
		scalar_const(d, alu_concrete(op, d->var.value, s->var.value, width));
		return;
	}
	switch (op) {
	case GPUBPF_DIV:
	case GPUBPF_MOD:
	case GPUBPF_SDIV:
	case GPUBPF_SMOD:
		if (!divide_range(op, d, s, width))
			alu_unknown(d, width);
		return;
	default:
		break;
	}
	if (is_shift(op) && !s_known) {
		alu_unknown(d, width);
		return;
	}
	if (is_shift(op))
		alu_shift(op, d, s->var.value & (width * 8 - 1), width);
	else
		alu_plain(op, d, s);
	if (width == 4)
		zero_extended(d);
	scalar_sync(d);
}

void scalar_byteswap(struct scalar *s, unsigned int bytes, char kind)
{
	struct tnum t = tnum_bswap(s->var, bytes);

	if (kind == 'l') {
		scalar_zext(s, bytes);
		return;
	}
	scalar_unknown(s);
	s->var = t;
	scalar_sync(s);
}
