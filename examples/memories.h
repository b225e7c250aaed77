/* SPDX-License-Identifier: Apache-2.0 */
/* The application's allocations as a table, for probes and those that read what they found: rows by numbers, in the order in
 * which they were made. The last row stands for what is of no allocation, and of the 4095th and all later ones. */
#ifndef EXAMPLES_MEMORIES_H
#define EXAMPLES_MEMORIES_H

#include <gpubpf/probe.h>

#define ROWS 4096
#define OTHERS (ROWS - 1)

GPUBPF_ALLOCATIONS(memories, OTHERS);

/* The row of the allocation that an address is in. */
static __always_inline __u32 memory_row(__u64 addr)
{
	__u64 number = gpubpf_allocation_number(addr);

	return number < OTHERS ? number : OTHERS;
}

#endif
