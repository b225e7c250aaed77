/* SPDX-License-Identifier: Apache-2.0 */
// a store in indexed register mode, which no earlier code sets
// launch 64 1 1 64 1 1
// refused mem.all: an access through indexed registers
// only gfx90a gfx942
kernel void k(global uint *out, global const uint *in, uint n)
{
	__asm__ volatile("s_cmp_eq_u32 s40, 7\ns_set_gpr_idx_on s40, gpr_idx(SRC0)\ns_cbranch_scc0 1f\ns_set_gpr_idx_off\ns_branch 2f\n"
			 "1: global_store_dword %[p], %[v], off\ns_set_gpr_idx_off\n2:"
			 : : [p] "v"(out + ID), [v] "v"(n) : "m0", "scc", "s40", "memory");
	out[ID] = in[ID];
}
