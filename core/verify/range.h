/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known about a 64-bit number: its bits (tnum) and the intervals it lies in, signed and
 * unsigned, as a 64-bit number and in its low 32 bits. A pure domain. Every operation is sound: it
 * holds for all numbers that its operands stand for, with the semantics of RFC 9669 4.1.
 */
#ifndef GPUBPF_VERIFY_RANGE_H
#define GPUBPF_VERIFY_RANGE_H

#include <stddef.h>

#include "core/insn.h"
#include "tnum.h"

/* Intervals of a number of some width (the `bits` argument below). 8 bits serve the exhaustive tests. */
struct bounds {
	uint64_t umin, umax;
	int64_t smin, smax;
};

void bounds_full(struct bounds *b, unsigned int bits);
/* Let the signed and unsigned interval tighten each other, exactly. False: no number is in both. */
bool bounds_reduce(struct bounds *b, unsigned int bits);
/* out = a op b; ADD SUB MUL, and what has no rule: everything. */
void bounds_alu(enum gpubpf_alu_op op, struct bounds *out, const struct bounds *a, const struct bounds *b,
		unsigned int bits);

struct scalar {
	struct tnum var;
	struct bounds w64, w32;
};

void scalar_unknown(struct scalar *s);
void scalar_const(struct scalar *s, uint64_t v);
void scalar_range(struct scalar *s, uint64_t umin, uint64_t umax);
/* Let all parts tighten each other. False, and *s unknown, when they contradict: no number fits. */
bool scalar_sync(struct scalar *s);
void scalar_settle(struct scalar *s);

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
/* Every number of `in` is one of `out`. */
bool scalar_within(const struct scalar *in, const struct scalar *out);
void scalar_zext(struct scalar *s, unsigned int bytes);
void scalar_sext(struct scalar *s, unsigned int bytes);
/* d = d op s for every op but MOV, MOVSX and END; width 4 (zero-extended) or 8 bytes. */
void scalar_alu(enum gpubpf_alu_op op, struct scalar *d, const struct scalar *s, unsigned int width);
void scalar_byteswap(struct scalar *s, unsigned int bytes, char kind);
/* The result of op on known numbers. */
uint64_t alu_concrete(enum gpubpf_alu_op op, uint64_t d, uint64_t s, unsigned int width);

/* 1: a op b always holds; 0: never; -1: it depends. */
int scalar_taken(enum gpubpf_jmp_op op, const struct scalar *a, const struct scalar *b, unsigned int width);
/* Tighten both, which may be the same, knowing that `a op b` is `holds`; `kernel`: with the losses of the Linux
 * kernel's verifier (range_linux.c). False: it cannot be. */
bool scalar_assume(enum gpubpf_jmp_op op, bool holds, struct scalar *a, struct scalar *b, unsigned int width,
		   bool kernel);
/* scalar_sync() with the losses of the Linux kernel's (range_linux.c). */
bool scalar_sync_kernel(struct scalar *s);
/* Before scalar_alu() where no more may be known than the kernel knows. */
void scalar_lose(enum gpubpf_alu_op op, struct scalar *d, const struct scalar *s);

#endif
