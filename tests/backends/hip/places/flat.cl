/* SPDX-License-Identifier: Apache-2.0 */
// launch 64 1 1 64 1 1
#include "forms.h"

/* Odd lanes access shared memory, even lanes global memory; every fourth lane is inactive. One work-group
 * only: the test's simulator mixes up flat atomics of two work-groups in shared memory, even without a probe. */
kernel void k(global uint *out, global const uint *in, uint n)
{
	local uint shared[64 * 4];
	uint i = ID, got = 0;
	uint *p = i & 1 ? (uint *)&shared[4 * LOCAL] : (uint *)(out + 4 * i);

	if (i % 4 != 3) {
		__asm__ volatile(
			"v_mov_b32 v40, %[i]\n"
			ADD " v41, 100, v40\n"
			"flat_store_dwordx2 %[p], v[40:41]\n"              //= S8 G on=i%2==0 off=16*i v=i|i+100<<32 //+ S8 S on=i%4==1 off=16*l v=i|i+100<<32
			WAIT
			"flat_load_dword v42, %[p]\n"                      //= L4 G on=i%2==0 off=16*i //+ L4 S on=i%4==1 off=16*l
			"flat_load_ubyte v43, %[p] offset:4\n"             //= L1 G on=i%2==0 off=16*i+4 //+ L1 S on=i%4==1 off=16*l+4
			"flat_atomic_add v44, %[p], v40" OLD "\n"          //= A4 G on=i%2==0 off=16*i v=i op=add operand=i old=i //+ A4 S on=i%4==1 off=16*l v=i op=add operand=i old=i
			WAIT
			"v_xor_b32 v42, v42, v43\nv_xor_b32 %[got], v42, v44\n"
			: [got] "=&v"(got) : [i] "v"(i), [p] "v"(p) : "v40", "v41", "v42", "v43", "v44", "memory");
	}
	((volatile global uint *)out)[4096 + i] = got;             //= S4 G off=16384+4*i v=any
}
