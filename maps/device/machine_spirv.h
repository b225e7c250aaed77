/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine layer for SPIR-V, compiled by LLVM. The clock is an external function that is linked separately, because
 * core SPIR-V 1.4 has no clock.
 */
#ifndef GPUBPF_MAPS_MACHINE_SPIRV_H
#define GPUBPF_MAPS_MACHINE_SPIRV_H

#define GPUBPF_MAX_WAIT_TURNS (1u << 26) /* takes about a second on a CPU */
#define GPUBPF_SHORT_WAIT_TURNS (1u << 14)

#define SPIRV_SCOPE_CROSS_DEVICE 0 /* SPIR-V 3.27, 3.25 */
#define SPIRV_SCOPE_DEVICE 1
#define SPIRV_RELAXED 0
#define SPIRV_ACQUIRE_RELEASE 8
#define SPIRV_GLOBAL_MEMORY 0x200

/*
 * Defines compare-and-exchange with OpAtomicCompareExchange. The builtin of clang returns a structure of the old value
 * and a success flag, for which LLVM 22 emits invalid SPIR-V. The index of member 0 is wrong if the function already
 * used the constant 0. LLVM 22 also crashes on phi and freeze instructions of such structures.
 */
#define SPIRV_CAS(type) \
	__attribute__((overloadable)) type __spirv_AtomicCompareExchange(GPUBPF_DEVMEM gpubpf_##type##a *, \
		int scope, int equal, int unequal, type value, type expected);
SPIRV_CAS(u32)
SPIRV_CAS(u64)

/*
 * Defines compare-and-exchange at an address that looks different in each lane to the compiler. Otherwise Intel's CPU
 * runtime (2026.22) may move a compare-exchange with uniform address and operands before its loop, and execute it only
 * once for a vector of lanes. The other lanes then never succeed.
 */
#define GPUBPF_SCOPED_CAS(type, name, order) \
	GPUBPF_FN type gpubpf_##name##_##type(u64 a, type expected, type v) \
	{ \
		return __spirv_AtomicCompareExchange((GPUBPF_DEVMEM gpubpf_##type##a *)(a + ((u64)get_local_id(0) >> 63)), \
						     SPIRV_SCOPE_DEVICE, \
						     order == __ATOMIC_RELAXED ? SPIRV_RELAXED : SPIRV_ACQUIRE_RELEASE, \
						     SPIRV_RELAXED, v, expected); \
	}

/*
 * SPIR-V's own barrier, because LLVM 22 translates clang's fences to barriers without memory semantics (3.25). Intel's
 * GPU compiler removes such barriers.
 */
__attribute__((overloadable)) void __spirv_MemoryBarrier(int scope, int semantics);

GPUBPF_FN void gpubpf_fence(void)
{
	__spirv_MemoryBarrier(SPIRV_SCOPE_DEVICE, SPIRV_ACQUIRE_RELEASE | SPIRV_GLOBAL_MEMORY);
}

GPUBPF_FN void gpubpf_fence_system(void)
{
	__spirv_MemoryBarrier(SPIRV_SCOPE_CROSS_DEVICE, SPIRV_ACQUIRE_RELEASE | SPIRV_GLOBAL_MEMORY);
}

#define GPUBPF_SCOPED_FENCE
#include "machine_scoped.h"
#include "machine_opencl.h"
#include "machine_lane.h"

u64 gpubpf_clock_read(void);

GPUBPF_FN u64 gpubpf_clock(void)
{
	return gpubpf_clock_read();
}

#endif
