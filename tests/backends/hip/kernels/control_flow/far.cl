/* SPDX-License-Identifier: Apache-2.0 */
// the code is longer than the range of a branch, with an exit before and after the long part
// launch 128 1 1 64 1 1
#define NOPS1(x) x x x x x x x x x x x x x x x x
#define NOPS(x) __asm__ volatile(NOPS1(NOPS1(NOPS1(x))));
kernel void k(global uint *out, global const uint *in, uint n)
{
	out[ID] = n;
	__asm__ volatile("s_bitcmp1_b32 %0, 0\n s_cbranch_scc0 1f\n s_endpgm\n 1:" : : "s"(GROUP) : "scc", "memory");
	NOPS("v_nop\n") NOPS("v_nop\n") NOPS("v_nop\n") NOPS("v_nop\n") NOPS("v_nop\n")
	NOPS("v_nop\n") NOPS("v_nop\n") NOPS("v_nop\n") NOPS("v_nop\n")
	out[ID] = in[ID];
}
