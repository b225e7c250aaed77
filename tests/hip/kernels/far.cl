/* SPDX-License-Identifier: Apache-2.0 */
// more code than a branch reaches over
// launch 64 1 1 64 1 1
// refused its code is too large
#define NOPS1(x) x x x x x x x x x x x x x x x x
#define NOPS(x) __asm__ volatile(NOPS1(NOPS1(NOPS1(x))));
kernel void k(global uint *out, global const uint *in, uint n)
{
	NOPS("v_nop\n") NOPS("v_nop\n") NOPS("v_nop\n") NOPS("v_nop\n") NOPS("v_nop\n")
	NOPS("v_nop\n") NOPS("v_nop\n") NOPS("v_nop\n") NOPS("v_nop\n")
	out[ID] = in[ID];
}
