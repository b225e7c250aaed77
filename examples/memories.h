/* SPDX-License-Identifier: Apache-2.0 */
/* The application's allocations as a table, for probes and those that read what they found: rows by numbers, in the order in
 * which they were made. The last row stands for what is of no allocation, and of the 4095th and all later ones. */
#ifndef EXAMPLES_MEMORIES_H
#define EXAMPLES_MEMORIES_H

#include <gpubpf/probe.h>

#define ROWS 4096
#define OTHERS (ROWS - 1)

struct memory {
	gpubpf_address base;
	__u64 size;
	__u64 kind; /* 1 device, 2 managed, 3 host */
};
GPUBPF_ARRAY(memories, struct memory, ROWS);

/* Once: a number is never another one's. Lanes write the same, whichever is the last. */
static __always_inline void memory_describe(__u32 row, __u64 addr)
{
	struct memory *m = bpf_map_lookup_elem(&memories, &row);
	struct gpubpf_allocation of;

	if (!m || m->size || gpubpf_allocation(addr, &of))
		return;
	m->base = of.base;
	m->kind = of.kind;
	m->size = of.size;
}

/* The row of the allocation that an address is in. */
static __always_inline __u32 memory_row(__u64 addr)
{
	__u64 number = gpubpf_allocation_number(addr);

	if (number >= OTHERS)
		return OTHERS;
	memory_describe(number, addr);
	return number;
}

#endif
