/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds code that finds the last lane of a block to leave the kernel. The twin has a counter, one word of shared
 * memory after all shared memory of the block. At the entry each lane stores the block's number of lanes there and
 * waits once for the other lanes. Where converged lanes leave, one of them subtracts their number from the counter. All
 * lanes end, except the lane whose subtraction makes the counter 0. A special register says where shared memory ends,
 * so dynamic shared memory does not matter. A kernel that reads this register would see the larger size, so
 * sass_callees_check_shared_size() refuses it.
 */
#ifndef GPUBPF_SASS_LANE_COUNT_H
#define GPUBPF_SASS_LANE_COUNT_H

#include "isa.h"

#define SASS_COUNT_BYTES 16        /* bytes of shared memory for the counter; more than a word, so that alignment is
                                    * preserved */
#define SASS_COUNT_MIN_SM_RANK 90       /* from this architecture on, the rank of the block in its cluster is part of
                                         * a shared address. The system's shared memory then precedes the memory of
                                         * the block. */
#define SASS_COUNT_SYSTEM_BYTES 0x400    /* bytes of the system's shared memory; the size of the section includes
                                          * them */
#define SASS_COUNT_MAX_INSNS 20         /* maximum number of instructions of either sequence */

/* Write the counting code at the entry, and the counting code where lanes leave. `base` is the first register that
 * the code uses. Both functions return the number of instructions. */
uint32_t sass_count_begin(const struct sass_arch *arch, unsigned base, struct sass_insn insns[SASS_COUNT_MAX_INSNS]);
uint32_t sass_count_end(const struct sass_arch *arch, unsigned base, struct sass_insn insns[SASS_COUNT_MAX_INSNS]);

#endif
