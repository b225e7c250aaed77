/* SPDX-License-Identifier: Apache-2.0 */
// code that enables arithmetic exceptions
// launch 64 1 1 64 1 1
// refused arithmetic exceptions
kernel void k(global uint *out, global const uint *in, uint n)
{
	out[ID] = in[ID];
	__asm__ volatile("s_waitcnt 0\ns_setreg_imm32_b32 hwreg(1, 12, 9), 0x2\ns_endpgm");
}
