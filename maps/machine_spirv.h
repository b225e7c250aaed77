/* SPDX-License-Identifier: Apache-2.0 */
/* SPIR-V by LLVM. The clock is a function linked beside: SPIR-V 1.4 has none in its core. */
#ifndef GPUBPF_MAPS_MACHINE_SPIRV_H
#define GPUBPF_MAPS_MACHINE_SPIRV_H

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
