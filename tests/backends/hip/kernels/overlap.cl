/* SPDX-License-Identifier: Apache-2.0 */
// a branch into the literal of s_mov_b32 s20; the literal decodes as s_nop 0
// launch 64 1 1 64 1 1
// refused the middle of an instruction
kernel void k(global uint *out, global const uint *in, uint n)
{
	__asm__ volatile("s_cmp_eq_u32 s20, s20\n\ts_cbranch_scc0 1f\n\t.long 0xbe9400ff\n1:\n\t.long 0xbf800000" : : : "s20", "scc");
	out[ID] = in[ID];
}
