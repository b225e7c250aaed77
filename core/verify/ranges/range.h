/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The known properties of a 64-bit number: its bits (tnum), and the signed and unsigned intervals of the number and of
 * its low 32 bits. All functions are pure. Every operation is sound: its result holds for all numbers that its operands
 * represent, with the semantics of RFC 9669 4.1.
 */
#ifndef GPUBPF_VERIFY_RANGE_H
#define GPUBPF_VERIFY_RANGE_H

#include <stddef.h>

#include "core/model/insn.h"
#include "core/verify/ranges/tnum.h"

/* Intervals of a number whose width is the argument `bits` of the functions below. The exhaustive tests use 8 bits. */
struct bounds {
	uint64_t umin, umax;
	int64_t smin, smax;
};

void bounds_full(struct bounds *b, unsigned int bits);
/* Tightens the signed and the unsigned interval by each other, exactly. Returns false if no number is in both. */
bool bounds_reduce(struct bounds *b, unsigned int bits);
/* Computes out = a op b for ADD, SUB and MUL. For other operations, *out becomes the full range. */
void bounds_alu(enum gpubpf_alu_op op, struct bounds *out, const struct bounds *a, const struct bounds *b,
		unsigned int bits);

struct scalar {
	struct tnum var;
	struct bounds w64, w32;
};

void scalar_unknown(struct scalar *s);
void scalar_const(struct scalar *s, uint64_t v);
void scalar_range(struct scalar *s, uint64_t umin, uint64_t umax);
/* Tightens all parts of *s by each other. If they contradict each other, returns false and makes *s unknown. */
bool scalar_sync(struct scalar *s);
void scalar_fold_const(struct scalar *s);

static inline bool scalar_is_const(const struct scalar *s)
{
	return tnum_is_const(s->var);
}

static inline bool scalar_is_zero(const struct scalar *s)
{
	return !s->var.mask && !s->var.value;
}

bool scalar_is_const32(const struct scalar *s);
bool scalar_equal(const struct scalar *a, const struct scalar *b);
/* Returns true if every number of `in` is a number of `out`. */
bool scalar_within(const struct scalar *in, const struct scalar *out);
void scalar_zext(struct scalar *s, unsigned int bytes);
void scalar_sext(struct scalar *s, unsigned int bytes);
/* Computes d = d op s for every op except MOV, MOVSX and END. `width` is 4 (the result is zero-extended) or 8 bytes. */
void scalar_alu(enum gpubpf_alu_op op, struct scalar *d, const struct scalar *s, unsigned int width);
void scalar_byteswap(struct scalar *s, unsigned int bytes, char kind);
/* Returns the result of the operation on two known numbers. */
uint64_t alu_concrete(enum gpubpf_alu_op op, uint64_t d, uint64_t s, unsigned int width);

/* Returns 1 if `a op b` always holds, 0 if it never holds, -1 otherwise. */
int scalar_taken(enum gpubpf_jmp_op op, const struct scalar *a, const struct scalar *b, unsigned int width);
/*
 * Tightens a and b, which may be the same object, assuming that `a op b` is true (`holds`) or false. With `kernel`,
 * uses the less precise rules of the Linux kernel's verifier (range_linux.c). Returns false if the assumption is
 * impossible.
 */
bool scalar_assume(enum gpubpf_jmp_op op, bool holds, struct scalar *a, struct scalar *b, unsigned int width, bool kernel);
/* Like scalar_sync(), with the less precise rules of the Linux kernel's verifier (range_linux.c). */
bool scalar_sync_kernel(struct scalar *s);
/*
 * Reduces the known properties of the operands to the properties that the Linux kernel's verifier uses for op. Call it
 * before scalar_alu().
 */
void scalar_lose_precision(enum gpubpf_alu_op op, struct scalar *d, const struct scalar *s);

#endif
