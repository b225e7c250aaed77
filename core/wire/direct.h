/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Direct runs: gpubpf-runner, a process of gpubpf, launches an empty kernel. A program of section gpu/run/ is the probe at
 * the entry of that kernel. The kernel is KERNEL(block, size, key). The agent makes its twin as for every
 * application.
 *
 * `block` is memory that the runner shares with the session. It begins with struct gpubpf_direct_block; the program's
 * data buffer of `size` bytes begins at GPUBPF_DIRECT_DATA (maps/layout.h). The device library uses these arguments
 * only if `key` is GPUBPF_DIRECT_KEY.
 */
#ifndef GPUBPF_CORE_WIRE_DIRECT_H
#define GPUBPF_CORE_WIRE_DIRECT_H

#include <stdint.h>

#define GPUBPF_DIRECT_KERNEL "gpubpf_direct_run"

struct gpubpf_direct_block {
	uint64_t result; /* r0 of the first thread of the last run; the device writes it */
	uint64_t unused[7];
	/* The runner writes the members below. */
	uint64_t runs;               /* number of launches that ended */
	uint64_t first_ns, total_ns; /* time of the first launch, and of all launches, until the runner sees their end */
	uint64_t min_ns;             /* shortest launch */
	char backend[16], device[128];
	char error[240]; /* why the runs failed; "" if they succeeded */
};

#endif
