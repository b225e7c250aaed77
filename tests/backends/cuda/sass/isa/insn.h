/* SPDX-License-Identifier: Apache-2.0 */
/* Makes instructions from their bits. Tests state the bits as nvdisasm prints them. */
#ifndef GPUBPF_TESTS_CUDA_SASS_INSN_H
#define GPUBPF_TESTS_CUDA_SASS_INSN_H

#include "backends/cuda/sass/isa/bits.h"

static inline struct sass_insn insn_of(uint64_t lo, uint64_t hi)
{
	return sass_decode((struct sass_word){ lo, hi });
}

#endif
