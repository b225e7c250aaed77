/* SPDX-License-Identifier: Apache-2.0 */
#include "tnum.h"

struct tnum tnum_sext(struct tnum t, unsigned int bits)
{
	unsigned int n = 64 - bits;

	return (struct tnum){ (uint64_t)((int64_t)(t.value << n) >> n), (uint64_t)((int64_t)(t.mask << n) >> n) };
}

/* Shifting the mask arithmetically makes the copies of an unknown sign bit unknown as well. */
struct tnum tnum_arsh(struct tnum t, unsigned int n, unsigned int bits)
{
	struct tnum wide = tnum_sext(t, bits);

	wide.value = (uint64_t)((int64_t)wide.value >> n);
	wide.mask = (uint64_t)((int64_t)wide.mask >> n);
	return tnum_cast(wide, bits);
}

/*
 * A bit of the sum is known if both operands' bits are known. The carry into it must also be the same in the smallest
 * and the largest sum. Carries only grow from the smallest to the largest.
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
 * Long multiplication. The known bits of both give one exact product. The uncertainty of each partial product is summed
 * as a mask-only tnum, which loses less than one sum of both.
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
 * Looks at the highest bit where x differs from all members. If they have a 1 there, the result is the smallest member
 * with x's upper bits. If they have a 0, the lowest unknown bit above it that is 0 in x is set.
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
