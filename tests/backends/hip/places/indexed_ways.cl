/* SPDX-License-Identifier: Apache-2.0 */
// a store with two predecessors, one of them in indexed register mode
// refused mem.all: registers are indexed on some paths
// only gfx90a gfx942
kernel void k(global uint *out, global const uint *in, uint n)
{
	__asm__ volatile("s_cmp_eq_u32 s40, 7\ns_cbranch_scc0 1f\ns_set_gpr_idx_on s40, gpr_idx(SRC0)\n"
			 "1: global_store_dword %[p], %[v], off\ns_set_gpr_idx_off"
			 : : [p] "v"(out + ID), [v] "v"(n) : "m0", "scc", "s40", "memory");
	out[ID] = in[ID];
}
