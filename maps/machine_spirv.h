/* SPDX-License-Identifier: Apache-2.0 */
/* SPIR-V by LLVM. The clock is a function linked beside: SPIR-V 1.4 has none in its core. */
#ifndef GPUBPF_MAPS_MACHINE_SPIRV_H
#define GPUBPF_MAPS_MACHINE_SPIRV_H

/* An address that looks like the lane's own: of a compare-exchange whose address and operands are the same in all lanes,
 * code that Intel's CPU runtime (2026.22) makes of SPIR-V runs one for a vector of lanes, and the others never succeed. */
#define GPUBPF_CAS_ADDRESS(a) ((a) + ((u64)get_local_id(0) >> 63))
#include "machine_scoped.h"
#include "machine_opencl.h"
#include "machine_lane.h"

u64 gpubpf_clock_read(void);

GPUBPF_FN u64 gpubpf_clock(void)
{
	return gpubpf_clock_read();
}

GPUBPF_FN void gpubpf_fence_system(void)
{
	__scoped_atomic_thread_fence(__ATOMIC_ACQ_REL, __MEMORY_SCOPE_SYSTEM);
}

#endif
