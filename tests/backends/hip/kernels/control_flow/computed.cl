/* SPDX-License-Identifier: Apache-2.0 */
// a jump to a computed address
// launch 64 1 1 64 1 1
// refused computed address
kernel void k(global uint *out, global const uint *in, uint n)
{
	__asm__ volatile("s_getpc_b64 s[20:21]\n\ts_add_u32 s20, s20, 16\n\ts_addc_u32 s21, s21, 0\n\ts_setpc_b64 s[20:21]\n\t"
			 "s_nop 0\n\ts_nop 0\n\ts_nop 0\n\ts_nop 0" : : : "s20", "s21", "scc");
	out[ID] = in[ID];
}
