/* SPDX-License-Identifier: Apache-2.0 */
// ends in indexed register mode, which would also index the registers of a probe
// launch 64 1 1 64 1 1
// refused probes at its end
// only gfx90a gfx942
kernel void k(global uint *out, global const uint *in, uint n)
{
	out[ID] = in[ID];
	__asm__ volatile("s_waitcnt 0\ns_set_gpr_idx_on s40, gpr_idx(SRC0,DST)\ns_endpgm" : : : "m0", "s40");
}
