/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions that the cases share. They need no library, so that any clang compiles the cases. */
#define WAVES 64u /* threads per work-group, for ID */
#define LOCAL __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define ID (GROUP * WAVES + LOCAL)
#define NOINLINE __attribute__((noinline))
#define ADD(p, v) __scoped_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)

static inline void meet(void)
{
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
