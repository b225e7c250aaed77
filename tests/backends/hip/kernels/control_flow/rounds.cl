/* SPDX-License-Identifier: Apache-2.0 */
// the kernel writes the MODE register, such as its rounding bits, but enables no exceptions
// launch 64 1 1 64 1 1
// only gfx90a gfx942
kernel void k(global uint *out, global const uint *in, uint n)
{
	uint mode;

	__asm__ volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 24), 0x3f7\ns_nop 1\ns_getreg_b32 %0, hwreg(HW_REG_MODE, 0, 8)"
			 : "=s"(mode) : : "memory");
	out[ID] = in[ID] + mode;
}
