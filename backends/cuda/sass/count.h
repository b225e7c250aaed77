/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting a block's lanes, so that the last that has nothing more to do is known. A word behind all of the block's shared memory,
 * for which the twin has so much more, holds how many have not left: at the kernel's top each lane writes there how many there are
 * and waits for the others, once; where lanes leave, those that come together take as many away, and all end but the one that
 * took the last. Where the memory ends a special register says, so that what a launch adds does not matter; but a kernel that
 * asks for that itself would be told another size, and is refused (sass_callees_ask_shared()).
 */
#ifndef GPUBPF_SASS_COUNT_H
#define GPUBPF_SASS_COUNT_H

#include "probe.h"

#define SASS_COUNT_BYTES 16        /* of shared memory, the word's alignment kept */
#define SASS_COUNT_RANKED 90       /* from there on addresses begin with the block's number in its cluster, and what the system keeps lies */
#define SASS_COUNT_SYSTEM 0x400    /* before the kernel's own: so much, which the section's size counts in */
#define SASS_COUNT_MOST 20         /* instructions of either */

/* The code at the entry, and where lanes leave: how many instructions. Alone: for a lane by itself, whose bit is in a register. */
uint32_t sass_count_begin(const struct sass_arch *arch, unsigned base, struct sass_insn insns[SASS_COUNT_MOST]);
uint32_t sass_count_end(const struct sass_arch *arch, unsigned base, struct sass_insn insns[SASS_COUNT_MOST]);
/* The same as probes. -ENOMEM. */
int sass_count_probe(const struct sass_arch *arch, bool end, struct sass_probe *probe);

/* Is the instruction one of those that only counting has, of probes? */
bool sass_is_counting(struct sass_insn insn);
/* Is it one that tells the size of the block's shared memory? */
bool sass_asks_shared(struct sass_insn insn);

#endif
