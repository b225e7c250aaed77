/* SPDX-License-Identifier: Apache-2.0 */
/* The application's allocations as a table, for probes and readers of their results. Rows are indexed by allocation
 * number. The last row stands for addresses outside of allocations, and for allocations from the 4095th on. */
#ifndef EXAMPLES_MEMORIES_H
#define EXAMPLES_MEMORIES_H

#include <gpubpf/probe.h>

#define ROWS 4096
#define OTHERS (ROWS - 1)

GPUBPF_ALLOCATIONS(memories, OTHERS);

/* Returns the row of the allocation that contains an address. */
static __always_inline __u32 memory_row(__u64 addr)
{
	__u64 number = gpubpf_allocation_number(addr);

	return number < OTHERS ? number : OTHERS;
}

#endif
