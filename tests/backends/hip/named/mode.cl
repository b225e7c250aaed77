/* SPDX-License-Identifier: Apache-2.0 */
// a probe must preserve the kernel's floating-point rounding and denormal modes
// launch 128 1 1 64 1 1
#include <gpubpf/mark.h>

kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = GROUP * 64 + LOCAL, before, behind;

	__asm__ volatile("s_setreg_imm32_b32 hwreg(1, 0, 8), 0x5a\ns_nop 4\ns_getreg_b32 %0, hwreg(1, 0, 8)" : "=s"(before));
	GPUBPF_MARK(moded, before);                                        //= mark:moded mark=0x5a
	__asm__ volatile("s_nop 4\ns_getreg_b32 %0, hwreg(1, 0, 8)\ns_nop 4" : "=s"(behind));
	GPUBPF_MARK(still, behind + i);                                    //= mark:still mark=0x5a+i
	out[i] = in[i] + before + 256 * behind;
}
