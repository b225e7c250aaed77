/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Macros that the cases share. A line that accesses memory states the expected context after //=, for lane i of the
 * launch and l of its group: access, bytes, space, and named values. `off` is the offset in global memory from `out`,
 * `v` and `w` the value, `hint` the cache hint. `op`, `operand` and `old` describe an atomic, `on` the active lanes.
 */
#ifdef __gfx1201__
#define WAIT "s_wait_loadcnt 0\ns_wait_storecnt 0\ns_wait_dscnt 0\ns_wait_kmcnt 0\n"
#define MEET "s_barrier_signal -1\ns_barrier_wait -1"
#define OLD " th:TH_ATOMIC_RETURN"
#define ONCE(access) " th:TH_" access "_NT"
#else
#define WAIT "s_waitcnt 0\n"
#define MEET "s_barrier"
#ifdef __gfx942__
#define OLD " sc0"
#define ONCE(access) " nt"
#else
#define OLD " glc"
#define ONCE(access) " slc"
#endif
#endif
#if defined(__gfx90a__) || defined(__gfx942__)
#define ADD "v_add_u32"
#define CMPST(old, compared, value) "ds_cmpst_rtn_b32 " old ", %[l], " compared ", " value "\n"
#else
#define ADD "v_add_nc_u32"
#define CMPST(old, compared, value) "ds_cmpstore_rtn_b32 " old ", %[l], " value ", " compared "\n"
#endif
/* moves p into scalar registers, also in the function that clang emits in addition to each kernel */
static inline ulong uniform(ulong p)
{
	uint low = __builtin_amdgcn_readfirstlane((uint)p), high = __builtin_amdgcn_readfirstlane((uint)(p >> 32));

	return low | (ulong)high << 32;
}
#define UNIFORM(p) uniform((ulong)(p))
