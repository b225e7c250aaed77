/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The known properties of a 64-bit number: its bits (tnum) and its signed and unsigned intervals, as a 64-bit number
 * and in its low 32 bits. A pure domain. Every operation is sound: it holds for all numbers that its operands
 * represent, with the semantics of RFC 9669 4.1.
 */
#ifndef GPUBPF_VERIFY_RANGE_H
#define GPUBPF_VERIFY_RANGE_H

#include <stddef.h>

#include "core/model/insn.h"
#include "tnum.h"

/* Intervals of a number of some width (the `bits` argument below). The exhaustive tests use 8 bits. */
struct bounds {
	uint64_t umin, umax;
	int64_t smin, smax;
};

void bounds_full(struct bounds *b, unsigned int bits);
/* Tightens the signed and unsigned interval by each other, exactly. False: no number is in both. */
bool bounds_reduce(struct bounds *b, unsigned int bits);
/* out = a op b for ADD, SUB and MUL; for other operations out is the full range. */
void bounds_alu(enum gpubpf_alu_op op, struct bounds *out, const struct bounds *a, const struct bounds *b,
		unsigned int bits);

struct scalar {
	struct tnum var;
	struct bounds w64, w32;
};

void scalar_unknown(struct scalar *s);
void scalar_const(struct scalar *s, uint64_t v);
void scalar_range(struct scalar *s, uint64_t umin, uint64_t umax);
/* Tightens all parts by each other. If they contradict, no number fits: returns false, and *s is unknown. */
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
/* Is every number of `in` one of `out`? */
bool scalar_within(const struct scalar *in, const struct scalar *out);
void scalar_zext(struct scalar *s, unsigned int bytes);
void scalar_sext(struct scalar *s, unsigned int bytes);
/* d = d op s for every op except MOV, MOVSX and END; width 4 (zero-extended) or 8 bytes. */
void scalar_alu(enum gpubpf_alu_op op, struct scalar *d, const struct scalar *s, unsigned int width);
void scalar_byteswap(struct scalar *s, unsigned int bytes, char kind);
/* Returns the result of op on known numbers. */
uint64_t alu_concrete(enum gpubpf_alu_op op, uint64_t d, uint64_t s, unsigned int width);

/* Returns 1 if a op b always holds, 0 if it never holds, -1 if it may. */
int scalar_taken(enum gpubpf_jmp_op op, const struct scalar *a, const struct scalar *b, unsigned int width);
/*
 * Tightens a and b, which may be the same object, by assuming that `a op b` is true (`holds`) or false. `kernel`: with
 * the precision losses of the Linux kernel's verifier (range_linux.c). False: the assumption is impossible.
 */
bool scalar_assume(enum gpubpf_jmp_op op, bool holds, struct scalar *a, struct scalar *b, unsigned int width, bool kernel);
/* scalar_sync() with the precision losses of the Linux kernel's verifier (range_linux.c). */
bool scalar_sync_kernel(struct scalar *s);
/* Reduces the operands' known properties to those that the kernel uses for op. Call it before scalar_alu(). */
void scalar_lose_precision(enum gpubpf_alu_op op, struct scalar *d, const struct scalar *s);

#endif
