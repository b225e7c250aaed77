/* SPDX-License-Identifier: Apache-2.0 */
// a write of the MODE register makes the wave skip vector instructions
// launch 64 1 1 64 1 1
// refused skips vector instructions
// only gfx90a gfx942
kernel void k(global uint *out, global const uint *in, uint n)
{
	out[ID] = in[ID];
	__asm__ volatile("s_waitcnt 0\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 20, 9), 0x100\ns_endpgm");
}
