/* SPDX-License-Identifier: Apache-2.0 */
// launch 128 1 1 64 1 1
#include "forms.h"

/* A wave executes a scalar load once; its first active lane counts the load. */
kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = ID, got = 0;

	if (LOCAL > 4)
		__asm__ volatile(
			"s_mov_b32 s40, 24\n"
			"s_load_dword s41, %[b], 16\n"                     //= L4 G on=FIRST off=16 v=0
			"s_load_dwordx2 s[42:43], %[b], s40\n"             //= L8 G on=FIRST off=24
			"s_load_dwordx4 s[44:47], %[b], 0\n"               //= L16 G on=FIRST off=0
			"s_load_dwordx8 s[48:55], %[b], 32\n"              //= L32 G on=FIRST off=32
			"s_load_dwordx16 s[60:75], %[b], 64\n"             //= L64 G on=FIRST off=64
			WAIT
			"s_xor_b32 s41, s41, s43\ns_xor_b32 s41, s41, s47\ns_xor_b32 s41, s41, s55\ns_xor_b32 s41, s41, s75\n"
			"v_mov_b32 %[got], s41\n"
			: [got] "=&v"(got) : [b] "s"(UNIFORM(out))
			: "s40", "s41", "s42", "s43", "s44", "s45", "s46", "s47", "s48", "s49", "s50", "s51", "s52", "s53", "s54", "s55", "s60",
			  "s61", "s62", "s63", "s64", "s65", "s66", "s67", "s68", "s69", "s70", "s71", "s72", "s73", "s74", "s75", "memory");
	((volatile global uint *)out)[i] = got;                    //= S4 G off=4*i v=any
}
