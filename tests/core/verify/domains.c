/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the verifier's abstract domains against concrete numbers, exhaustively at small widths. Tristate numbers have
 * 8 bits; each member is combined with all tristate numbers of 4 bits. Intervals have 8 bits and use the code for 64
 * bits. Products of both domains are checked for small numbers, and for numbers near the limits of 32 and 64 bits.
 */
#include <stdio.h>
#include <string.h>

#include "core/verify/ranges/range.h"
#include "tests/tap.h"

static bool member(struct tnum t, uint64_t v)
{
	return !((v ^ t.value) & ~t.mask);
}

static bool in_bounds(const struct bounds *b, uint64_t u, int64_t s)
{
	return u >= b->umin && u <= b->umax && s >= b->smin && s <= b->smax;
}

static bool in_scalar(const struct scalar *s, uint64_t v)
{
	return member(s->var, v) && in_bounds(&s->w64, v, (int64_t)v) && in_bounds(&s->w32, (uint32_t)v, (int32_t)v);
}

typedef struct tnum (*tnum_op)(struct tnum a, struct tnum b);

/*
 * Check op on all tristate numbers of abits and bbits: the result of every pair of members must be a member of op's
 * result.
 */
static bool tnum_sound(tnum_op op, enum gpubpf_alu_op alu, unsigned int abits, unsigned int bbits)
{
	const uint64_t alast = 1u << abits, blast = 1u << bbits;

	for (uint64_t am = 0; am < alast; am++)
		for (uint64_t av = 0; av < alast; av++)
			for (uint64_t bm = 0; !(av & am) && bm < blast; bm++)
				for (uint64_t bv = 0; bv < blast; bv++) {
					struct tnum r;

					if (bv & bm)
						continue;
					r = op((struct tnum){ av, am }, (struct tnum){ bv, bm });
					for (uint64_t x = am;; x = (x - 1) & am) {
						for (uint64_t y = bm;; y = (y - 1) & bm) {
							if (!member(r, alu_concrete(alu, av | x, bv | y, 8)) || (r.value & r.mask))
								return false;
							if (!y)
								break;
						}
						if (!x)
							break;
					}
				}
	return true;
}

static bool tnum_unary_sound(void)
{
	for (uint64_t m = 0; m < 256; m++)
		for (uint64_t v = 0; v < 256; v++)
			for (uint64_t x = m; !(v & m); x = (x - 1) & m) {
				struct tnum t = { v, m };
				uint64_t n = v | x;

				for (unsigned int s = 0; s < 8; s++)
					if (!member(tnum_lsh(t, s), n << s) || !member(tnum_rsh(t, s), n >> s) ||
					    !member(tnum_arsh(t, s, 8), (uint8_t)((int8_t)n >> s)))
						return false;
				if (!member(tnum_sext(t, 8), (uint64_t)(int64_t)(int8_t)n) || !member(tnum_cast(t, 4), n & 15) ||
				    n > tnum_max(t) || n < t.value)
					return false;
				if (!x)
					break;
			}
	return true;
}

static bool tnum_range_sound(void)
{
	for (uint64_t lo = 0; lo < 256; lo++)
		for (uint64_t hi = lo; hi < 256; hi++) {
			struct tnum t = tnum_range(lo, hi);

			for (uint64_t v = lo; v <= hi; v++)
				if (!member(t, v))
					return false;
		}
	return true;
}

/* Compare the nearest members above and below each number with those that a search finds. */
static bool tnum_next_exact(void)
{
	for (uint64_t m = 0; m < 256; m++)
		for (uint64_t v = 0; v < 256; v++)
			for (uint64_t x = 0; !(v & m) && x < 256; x++) {
				struct tnum t = { v, m };
				uint64_t above = x, below = x, got;

				while (above < 256 && !member(t, above))
					above++;
				while (below < 256 && !member(t, below))
					below--;
				if (tnum_at_least(t, x, &got) != (above < 256) || (above < 256 && got != above))
					return false;
				if (tnum_at_most(t, x, &got) != (below < 256) || (below < 256 && got != below))
					return false;
			}
	return true;
}

/* Reduce signed and unsigned intervals of 8 bits: the result must be the smallest that has all numbers in both. */
static bool reduce_exact(void)
{
	for (int ulo = 0; ulo < 256; ulo += 3)
		for (int uhi = ulo; uhi < 256; uhi += 2)
			for (int slo = -128; slo < 128; slo += 3)
				for (int shi = slo; shi < 128; shi += 2) {
					struct bounds b = { (uint64_t)ulo, (uint64_t)uhi, slo, shi };
					int umin = 256, umax = -1, smin = 128, smax = -129;
					bool any = bounds_reduce(&b, 8);

					for (int v = ulo; v <= uhi; v++) {
						int s = (int8_t)v;

						if (s < slo || s > shi)
							continue;
						umin = v < umin ? v : umin;
						umax = v > umax ? v : umax;
						smin = s < smin ? s : smin;
						smax = s > smax ? s : smax;
					}
					if (any != (umax >= 0) || (any && ((int)b.umin != umin || (int)b.umax != umax ||
									   (int)b.smin != smin || (int)b.smax != smax)))
						return false;
				}
	return true;
}

/* Check op on pairs of unsigned intervals of 8 bits; signed intervals follow from these. */
static bool bounds_sound(enum gpubpf_alu_op op)
{
	for (unsigned int alo = 0; alo < 256; alo += 5)
		for (unsigned int ahi = alo; ahi < 256; ahi += 11)
			for (unsigned int blo = 0; blo < 256; blo += 7)
				for (unsigned int bhi = blo; bhi < 256; bhi += 13) {
					struct bounds a, b, r;

					bounds_full(&a, 8);
					bounds_full(&b, 8);
					a.umin = alo, a.umax = ahi, b.umin = blo, b.umax = bhi;
					bounds_reduce(&a, 8);
					bounds_reduce(&b, 8);
					bounds_alu(op, &r, &a, &b, 8);
					for (unsigned int x = alo; x <= ahi; x += 1 + (ahi - alo) / 5)
						for (unsigned int y = blo; y <= bhi; y++) {
							uint8_t v = (uint8_t)alu_concrete(op, x, y, 8);

							if (!in_bounds(&r, v, (int8_t)v))
								return false;
						}
				}
	return true;
}

static const uint64_t anchors[] = {
	0, 0x7ffffffc, 0x7ffffffe, 0x80000000, 0xfffffffc, 0xfffffffe, 0x100000000, 0x7ffffffffffffffc, 0x7ffffffffffffffe,
	0x8000000000000000, 0xfffffffffffffffc, 0xffffffff7ffffffe, 0xffffffff80000000,
};
#define NANCHORS (sizeof(anchors) / sizeof(anchors[0]))

/*
 * Store the k-th small set of numbers around an anchor in *s: an interval of 1 to 5 numbers, or 4 numbers with 2
 * unknown bits.
 */
static void make(struct scalar *s, uint64_t anchor, int k, uint64_t members[8], int *n)
{
	*n = 0;
	scalar_unknown(s);
	if (k < 5) {
		for (int i = 0; i <= k; i++)
			members[(*n)++] = anchor + (uint64_t)i;
		if (anchor + (uint64_t)k >= anchor) {
			s->w64.umin = anchor;
			s->w64.umax = anchor + (uint64_t)k;
		} else {
			s->w64.smin = (int64_t)anchor;
			s->w64.smax = (int64_t)(anchor + (uint64_t)k);
		}
	} else {
		uint64_t mask = k == 5 ? 3 : k == 6 ? 0x80000001 : 0x8000000000000002;

		s->var = (struct tnum){ anchor & ~mask, mask };
		for (uint64_t x = mask;; x = (x - 1) & mask) {
			members[(*n)++] = (anchor & ~mask) | x;
			if (!x)
				break;
		}
	}
	scalar_sync(s);
}

typedef bool (*pair_fn)(const struct scalar *a, const struct scalar *b, const uint64_t *x, int nx, const uint64_t *y, int ny,
			int op, unsigned int width);

static bool alu_pair(const struct scalar *a, const struct scalar *b, const uint64_t *x, int nx, const uint64_t *y, int ny,
		     int op, unsigned int width)
{
	struct scalar r = *a;

	scalar_alu((enum gpubpf_alu_op)op, &r, b, width);
	for (int i = 0; i < nx; i++)
		for (int j = 0; j < ny; j++)
			if (!in_scalar(&r, alu_concrete((enum gpubpf_alu_op)op, x[i], y[j], width)))
				return false;
	return true;
}

static bool holds(enum gpubpf_jmp_op op, uint64_t a, uint64_t b, unsigned int width)
{
	int64_t sa = width == 4 ? (int32_t)a : (int64_t)a, sb = width == 4 ? (int32_t)b : (int64_t)b;

	if (width == 4)
		a = (uint32_t)a, b = (uint32_t)b;
	switch (op) {
	case GPUBPF_JEQ: return a == b;
	case GPUBPF_JNE: return a != b;
	case GPUBPF_JGT: return a > b;
	case GPUBPF_JGE: return a >= b;
	case GPUBPF_JLT: return a < b;
	case GPUBPF_JLE: return a <= b;
	case GPUBPF_JSET: return a & b;
	case GPUBPF_JSGT: return sa > sb;
	case GPUBPF_JSGE: return sa >= sb;
	case GPUBPF_JSLT: return sa < sb;
	default: return sa <= sb;
	}
}

static bool assume_sound(const struct scalar *a, const struct scalar *b, const uint64_t *x, int nx, const uint64_t *y, int ny,
			 int op, unsigned int width, bool kernel)
{
	int taken = scalar_taken((enum gpubpf_jmp_op)op, a, b, width);
	struct scalar ta = *a, tb = *b, fa = *a, fb = *b;

	scalar_assume((enum gpubpf_jmp_op)op, true, &ta, &tb, width, kernel);
	scalar_assume((enum gpubpf_jmp_op)op, false, &fa, &fb, width, kernel);
	for (int i = 0; i < nx; i++)
		for (int j = 0; j < ny; j++) {
			bool h = holds((enum gpubpf_jmp_op)op, x[i], y[j], width);

			if (taken >= 0 && taken != h)
				return false;
			if (h ? !in_scalar(&ta, x[i]) || !in_scalar(&tb, y[j]) : !in_scalar(&fa, x[i]) || !in_scalar(&fb, y[j]))
				return false;
		}
	return true;
}

static bool cmp_pair(const struct scalar *a, const struct scalar *b, const uint64_t *x, int nx, const uint64_t *y, int ny, int op,
		     unsigned int width)
{
	return assume_sound(a, b, x, nx, y, ny, op, width, false) &&
	       assume_sound(a, b, x, nx, y, ny, op, width, true);
}

static bool pairs_sound(pair_fn fn, int op, unsigned int width)
{
	struct scalar a, b;
	uint64_t x[8], y[8];
	int nx, ny;

	for (size_t i = 0; i < NANCHORS; i++)
		for (int k = 0; k < 8; k++) {
			make(&a, anchors[i], k, x, &nx);
			for (size_t j = 0; j < NANCHORS; j++)
				for (int l = 0; l < 8; l++) {
					make(&b, anchors[j], l, y, &ny);
					if (!fn(&a, &b, x, nx, y, ny, op, width))
						return false;
				}
		}
	return true;
}

static bool casts_sound(void)
{
	struct scalar a, r;
	uint64_t x[8];
	int n;

	for (size_t i = 0; i < NANCHORS; i++)
		for (int k = 0; k < 8; k++)
			for (unsigned int bytes = 1; bytes <= 8; bytes *= 2) {
				unsigned int up = 64 - 8 * bytes;

				make(&a, anchors[i], k, x, &n);
				for (int m = 0; m < n; m++) {
					r = a;
					scalar_zext(&r, bytes);
					if (!in_scalar(&r, x[m] << up >> up))
						return false;
					r = a;
					scalar_sext(&r, bytes);
					if (!in_scalar(&r, (uint64_t)((int64_t)(x[m] << up) >> up)))
						return false;
					r = a;
					if (bytes > 1)
						scalar_byteswap(&r, bytes, 'b');
					if (bytes > 1 && !in_scalar(&r, __builtin_bswap64(x[m]) >> up))
						return false;
				}
			}
	return true;
}

static const char *const alu_names[] = {
#define GPUBPF_ALU(name, code, mnemonic, meaning) #name,
#include "core/model/opcodes.def"
}, *const jmp_names[] = {
#define GPUBPF_JMP(name, code, mnemonic, predicate) #name,
#include "core/model/opcodes.def"
};

int main(void)
{
	static const struct {
		enum gpubpf_alu_op alu;
		tnum_op op;
	} tnum_ops[] = {
		{ GPUBPF_ADD, tnum_add }, { GPUBPF_SUB, tnum_sub }, { GPUBPF_MUL, tnum_mul }, { GPUBPF_AND, tnum_and },
		{ GPUBPF_OR, tnum_or }, { GPUBPF_XOR, tnum_xor },
	};

	for (size_t i = 0; i < sizeof(tnum_ops) / sizeof(tnum_ops[0]); i++)
		ok(tnum_sound(tnum_ops[i].op, tnum_ops[i].alu, 8, 4) && tnum_sound(tnum_ops[i].op, tnum_ops[i].alu, 4, 8),
		   "tnum %s", alu_names[tnum_ops[i].alu]);
	ok(tnum_unary_sound(), "tnum shifts and casts");
	ok(tnum_range_sound(), "tnum of a range");
	ok(tnum_next_exact(), "members next to a number");
	ok(reduce_exact(), "signed and unsigned intervals meet exactly");
	ok(bounds_sound(GPUBPF_ADD), "intervals ADD");
	ok(bounds_sound(GPUBPF_SUB), "intervals SUB");
	ok(bounds_sound(GPUBPF_MUL), "intervals MUL");
	for (int op = 0; op < GPUBPF_NALU; op++)
		if (op != GPUBPF_MOV && op != GPUBPF_MOVSX && op != GPUBPF_END)
			ok(pairs_sound(alu_pair, op, 8) && pairs_sound(alu_pair, op, 4), "numbers %s", alu_names[op]);
	for (int op = 0; op < GPUBPF_NJMP; op++)
		if (op != GPUBPF_JA && op != GPUBPF_CALL && op != GPUBPF_EXIT && op != GPUBPF_MAY_GOTO)
			ok(pairs_sound(cmp_pair, op, 8) && pairs_sound(cmp_pair, op, 4), "comparison %s", jmp_names[op]);
	ok(casts_sound(), "zero and sign extension, byte swaps");
	return done();
}
