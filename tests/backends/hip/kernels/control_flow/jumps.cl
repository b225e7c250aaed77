/* SPDX-License-Identifier: Apache-2.0 */
// long jumps, beyond the range of branches: in a loop and over a conditional block
// launch 128 1 1 64 1 1
#define NOPS1(x) x x x x x x x x x x x x x x x x
#define NOPS(x) __asm__ volatile(NOPS1(NOPS1(NOPS1(x))));
kernel void k(global uint *out, global const uint *in, uint n)
{
	uint v = in[ID];

	for (uint t = 0; t < 3 + GROUP; t++) {
		v += in[ID ^ t];
		if (v & 1) {
			NOPS("v_nop\n") NOPS("v_nop\n") NOPS("v_nop\n") NOPS("v_nop\n") NOPS("v_nop\n")
			NOPS("v_nop\n") NOPS("v_nop\n") NOPS("v_nop\n") NOPS("v_nop\n")
			v = v * 3 + t;
		}
	}
	out[ID] = v;
}
