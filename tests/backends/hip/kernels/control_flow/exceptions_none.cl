/* SPDX-License-Identifier: Apache-2.0 */
// code that writes the MODE register but enables no exceptions
// launch 64 1 1 64 1 1
kernel void k(global uint *out, global const uint *in, uint n)
{
	__asm__ volatile("s_setreg_imm32_b32 hwreg(1, 12, 9), 0\ns_setreg_imm32_b32 hwreg(1, 4, 2), 3");
	out[ID] = in[ID];
}
