/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes bits of an instruction by position. Only files of this folder, and tests, include it. */
#ifndef GPUBPF_SASS_BITS_H
#define GPUBPF_SASS_BITS_H

#include "insn.h"

/* Fields begin at bit `at` and do not cross bit 64. */
static inline uint64_t sass_word_field(struct sass_word w, unsigned at, unsigned bits)
{
	return (at < 64 ? w.lo >> at : w.hi >> (at - 64)) & ((1ull << bits) - 1);
}

static inline struct sass_word sass_word_with(struct sass_word w, unsigned at, unsigned bits, uint64_t value)
{
	uint64_t *half = at < 64 ? &w.lo : &w.hi, mask = ((1ull << bits) - 1) << at % 64;

	*half = (*half & ~mask) | (value << at % 64 & mask);
	return w;
}

static inline uint64_t sass_field(struct sass_insn i, unsigned at, unsigned bits)
{
	return sass_word_field(sass_encode(i), at, bits);
}

static inline struct sass_insn sass_with_field(struct sass_insn i, unsigned at, unsigned bits, uint64_t value)
{
	uint32_t from = i.at;

	i = sass_decode(sass_word_with(sass_encode(i), at, bits, value));
	i.at = from;
	return i;
}

#endif
