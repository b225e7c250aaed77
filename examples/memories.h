/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of the application's allocations, for probes and for programs that read their results. Rows are indexed by
 * the number of the allocation. The last row is for addresses outside all allocations, and for allocations from number
 * 4095 on.
 */
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
