/* SPDX-License-Identifier: Apache-2.0 */
// code that disables the hardware's waits for data hazards
// launch 64 1 1 64 1 1
// refused hazards
// only gfx1201
kernel void k(global uint *out, global const uint *in, uint n)
{
	out[ID] = in[ID];
	__asm__ volatile("s_setreg_imm32_b32 hwreg(26, 0, 2), 2\ns_endpgm");
}
