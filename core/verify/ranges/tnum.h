/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tristate numbers: 64-bit words whose bits are each 0, 1 or unknown. A tnum represents a set of numbers, its members.
 * `value` has the bits known to be 1 and `mask` the unknown bits; no bit is set in both. All functions are pure.
 * Source: Vishwanathan, Shachnai, Narayana, Nagarakatte, "Sound, Precise, and Fast Abstract Interpretation with
 * Tristate Numbers", CGO 2022.
 */
#ifndef GPUBPF_VERIFY_TNUM_H
#define GPUBPF_VERIFY_TNUM_H

#include <stdbool.h>
#include <stdint.h>

struct tnum {
	uint64_t value, mask;
};

#define TNUM_UNKNOWN ((struct tnum){ 0, UINT64_MAX })

static inline struct tnum tnum_const(uint64_t v)
{
	return (struct tnum){ v, 0 };
}

static inline bool tnum_is_const(struct tnum t)
{
	return !t.mask;
}

/* Returns the largest member, unsigned. The smallest member is t.value. */
static inline uint64_t tnum_max(struct tnum t)
{
	return t.value | t.mask;
}

static inline struct tnum tnum_and(struct tnum a, struct tnum b)
{
	uint64_t may = tnum_max(a) & tnum_max(b), must = a.value & b.value;

	return (struct tnum){ must, may & ~must };
}

static inline struct tnum tnum_or(struct tnum a, struct tnum b)
{
	uint64_t must = a.value | b.value;

	return (struct tnum){ must, (a.mask | b.mask) & ~must };
}

static inline struct tnum tnum_xor(struct tnum a, struct tnum b)
{
	uint64_t unknown = a.mask | b.mask;

	return (struct tnum){ (a.value ^ b.value) & ~unknown, unknown };
}

/* Shifts left by n < 64. */
static inline struct tnum tnum_lsh(struct tnum t, unsigned int n)
{
	return (struct tnum){ t.value << n, t.mask << n };
}

static inline struct tnum tnum_rsh(struct tnum t, unsigned int n)
{
	return (struct tnum){ t.value >> n, t.mask >> n };
}

/* Returns the low `bits` bits (1 to 64), zero-extended. */
static inline struct tnum tnum_cast(struct tnum t, unsigned int bits)
{
	uint64_t keep = UINT64_MAX >> (64 - bits);

	return (struct tnum){ t.value & keep, t.mask & keep };
}

/* Returns true if every member is a multiple of `size`, which is a power of two. */
static inline bool tnum_is_aligned(struct tnum t, uint64_t size)
{
	return !(tnum_max(t) & (size - 1));
}

/* Returns true if every member of `in` is a member of `out`. */
static inline bool tnum_within(struct tnum in, struct tnum out)
{
	return !(in.mask & ~out.mask) && ((in.value ^ out.value) & ~out.mask) == 0;
}

/* Returns the low `bits` bits, sign-extended. */
struct tnum tnum_sext(struct tnum t, unsigned int bits);
/* Shifts a number of `bits` bits arithmetically to the right; the result has `bits` bits too. */
struct tnum tnum_arsh(struct tnum t, unsigned int n, unsigned int bits);
struct tnum tnum_add(struct tnum a, struct tnum b);
struct tnum tnum_sub(struct tnum a, struct tnum b);
struct tnum tnum_mul(struct tnum a, struct tnum b);
/* Returns the smallest tnum that contains every number from min to max. */
struct tnum tnum_range(uint64_t min, uint64_t max);
struct tnum tnum_bswap(struct tnum t, unsigned int bytes);
/*
 * These find the smallest member that is at least x, and the largest member that is at most x. They return false if
 * there is no such member.
 */
bool tnum_at_least(struct tnum t, uint64_t x, uint64_t *member);
bool tnum_at_most(struct tnum t, uint64_t x, uint64_t *member);
/* Intersects a and b. Returns false and leaves *out unchanged if they have no common member. */
bool tnum_intersect(struct tnum a, struct tnum b, struct tnum *out);

#endif
