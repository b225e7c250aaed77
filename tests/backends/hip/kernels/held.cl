/* SPDX-License-Identifier: Apache-2.0 */
// a branch leads into the middle of a long jump, where the address registers have other values
// launch 64 1 1 64 1 1
// refused the middle of a jump
kernel void k(global uint *out, global const uint *in, uint n)
{
	__asm__ volatile("s_mov_b64 s[40:41], 0\n s_cmp_eq_u32 %0, 7\n s_cbranch_scc1 1f\n s_getpc_b64 s[40:41]\n"
			 "1: .long 0x8028ff28, 2f-1b, 0x8229ff29, 0\n s_setpc_b64 s[40:41]\n s_endpgm\n 2:"
			 : : "s"(GROUP) : "scc", "s40", "s41", "memory");
	out[ID] = in[ID];
}
