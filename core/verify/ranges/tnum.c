/* SPDX-License-Identifier: Apache-2.0 */
#include "core/verify/ranges/tnum.h"

struct tnum tnum_sext(struct tnum t, unsigned int bits)
{
	unsigned int n = 64 - bits;

	return (struct tnum){ (uint64_t)((int64_t)(t.value << n) >> n), (uint64_t)((int64_t)(t.mask << n) >> n) };
}

/* The arithmetic shift of the mask makes copies of an unknown sign bit unknown. */
struct tnum tnum_arsh(struct tnum t, unsigned int n, unsigned int bits)
{
	struct tnum wide = tnum_sext(t, bits);

	wide.value = (uint64_t)((int64_t)wide.value >> n);
	wide.mask = (uint64_t)((int64_t)wide.mask >> n);
	return tnum_cast(wide, bits);
}

/*
 * A bit of the sum is known if the bit is known in both operands and the carry into the bit is known. A carry is known
 * if it is the same in the smallest and in the largest sum, because a larger sum never has fewer carries.
 */
struct tnum tnum_add(struct tnum a, struct tnum b)
{
	uint64_t least = a.value + b.value, most = tnum_max(a) + tnum_max(b);
	uint64_t unknown = (least ^ most) | a.mask | b.mask;

	return (struct tnum){ least & ~unknown, unknown };
}

struct tnum tnum_sub(struct tnum a, struct tnum b)
{
	uint64_t least = a.value - tnum_max(b), most = tnum_max(a) - b.value;
	uint64_t unknown = (least ^ most) | a.mask | b.mask;

	return (struct tnum){ (a.value - b.value) & ~unknown, unknown };
}

/*
 * Long multiplication. The product of the known bits is exact. The unknown bits of the partial products are summed
 * separately, as tnums with only a mask. This loses less precision than a sum of complete partial products.
 */
struct tnum tnum_mul(struct tnum a, struct tnum b)
{
	struct tnum unsure = { 0, 0 };
	uint64_t product = a.value * b.value;

	for (unsigned int i = 0; i < 64 && (tnum_max(a) >> i); i++) {
		if (a.value >> i & 1)
			unsure = tnum_add(unsure, (struct tnum){ 0, b.mask << i });
		else if (a.mask >> i & 1)
			unsure = tnum_add(unsure, (struct tnum){ 0, tnum_max(b) << i });
	}
	return tnum_add(tnum_const(product), unsure);
}

struct tnum tnum_range(uint64_t min, uint64_t max)
{
	uint64_t differ = min ^ max, below;

	if (!differ)
		return tnum_const(min);
	below = UINT64_MAX >> __builtin_clzll(differ);
	return (struct tnum){ min & ~below, below };
}

bool tnum_intersect(struct tnum a, struct tnum b, struct tnum *out)
{
	uint64_t unknown = a.mask & b.mask;

	if ((a.value ^ b.value) & ~(a.mask | b.mask))
		return false;
	*out = (struct tnum){ (a.value | b.value) & ~unknown, unknown };
	return true;
}

static uint64_t bswap(uint64_t v, unsigned int bytes)
{
	return __builtin_bswap64(v) >> (64 - 8 * bytes);
}

struct tnum tnum_bswap(struct tnum t, unsigned int bytes)
{
	return (struct tnum){ bswap(t.value, bytes), bswap(t.mask, bytes) };
}

/*
 * Compares x with the known bits and examines the highest bit in which x differs from them. If the known bit is 1, the
 * result is the smallest member with x's bits above it. If the known bit is 0, the result sets the lowest unknown bit
 * above it that is 0 in x.
 */
bool tnum_at_least(struct tnum t, uint64_t x, uint64_t *member)
{
	uint64_t wrong = (x ^ t.value) & ~t.mask, below, bit;

	if (!wrong) {
		*member = x;
		return true;
	}
	bit = 1ull << (63 - __builtin_clzll(wrong));
	below = bit | (bit - 1);
	if (t.value & bit) {
		*member = (x & ~below) | (t.value & below);
		return true;
	}
	bit = t.mask & ~x & ~below;
	bit &= -bit;
	if (!bit)
		return false;
	*member = (x & ~(bit - 1)) | bit | (t.value & (bit - 1));
	return true;
}

bool tnum_at_most(struct tnum t, uint64_t x, uint64_t *member)
{
	struct tnum flipped = { ~tnum_max(t), t.mask };

	if (!tnum_at_least(flipped, ~x, member))
		return false;
	*member = ~*member;
	return true;
}
