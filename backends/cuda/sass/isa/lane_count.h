/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts a block's lanes, so that the last one to leave is known. The twin has one more word of shared memory, after
 * all of the block's. At the kernel's entry each lane stores there how many lanes the block has, and waits once for the
 * others. Where lanes leave, converged lanes subtract their number; all end except the one that took the last. A
 * special register says where the memory ends, so shared memory that a launch adds does not matter. A kernel that reads
 * this register would see another size, and sass_callees_check_shared_size() refuses it.
 */
#ifndef GPUBPF_SASS_LANE_COUNT_H
#define GPUBPF_SASS_LANE_COUNT_H

#include "isa.h"

#define SASS_COUNT_BYTES 16        /* bytes of shared memory, which preserve the word's alignment */
#define SASS_COUNT_MIN_SM_RANK 90       /* from this architecture on, addresses begin with the block's rank in its cluster,
                                    * and the system's memory */
#define SASS_COUNT_SYSTEM_BYTES 0x400    /* precedes the kernel's: these bytes, which the section's size includes */
#define SASS_COUNT_MAX_INSNS 20         /* maximum number of instructions of either sequence */

/* The code at the entry, and the code where lanes leave. Both return the number of instructions. */
uint32_t sass_count_begin(const struct sass_arch *arch, unsigned base, struct sass_insn insns[SASS_COUNT_MAX_INSNS]);
uint32_t sass_count_end(const struct sass_arch *arch, unsigned base, struct sass_insn insns[SASS_COUNT_MAX_INSNS]);

#endif
