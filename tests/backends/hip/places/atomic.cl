/* SPDX-License-Identifier: Apache-2.0 */
// launch 128 1 1 64 1 1
#include "forms.h"

/* In the test's simulator, atomics of group memory without a result write v0. */
kernel void k(global uint *out, global const uint *in, uint n)
{
	local uint shared[64 * 64];
	uint i = ID, got;
	global char *p = (global char *)out + 256 * i;

	__asm__ volatile(
		"v_mov_b32 v40, %[i]\nv_mov_b32 v47, 0\nv_mov_b32 v46, %[i]\n"
		ADD " v41, 100, v40\n" ADD " v42, 200, v40\n" ADD " v43, 300, v40\n"
		"global_store_dwordx2 %[p], v[42:43], off\n"               //= S8 G off=256*i v=i+200|i+300<<32
		"global_store_dword %[p], v41, off offset:8\n"             //= S4 G off=256*i+8 v=i+100
		"ds_write_b64 %[l], v[42:43]\n"                            //= S8 S off=256*l v=i+200|i+300<<32
		WAIT
		"global_atomic_add %[p], v42, off offset:8\n"              //= A4 G off=256*i+8 v=i+200 op=add operand=i+200
		WAIT
		"global_atomic_sub v44, %[p], v40, off offset:8" OLD "\n"  //= A4 G off=256*i+8 v=i op=sub operand=i old=2*i+300
		WAIT
		"global_atomic_umax v45, %[p], v43, off offset:8" OLD "\n" //= A4 G off=256*i+8 v=i+300 op=max operand=i+300 old=i+300
		WAIT
		"v_mov_b32 v49, v43\nv_mov_b32 v48, v40\n"
		"global_atomic_cmpswap v44, %[o], v[48:49], %[b] offset:8" OLD "\n" //= A4 G off=256*i+8 v=i op=compare operand=i+300 old=i+300
		WAIT
		"global_atomic_swap v43, %[o], v43, %[b] offset:8" OLD "\n" //= A4 G off=256*i+8 v=i+300 op=exchange operand=i+300 old=i
		WAIT
		ADD " v43, 300, v43\n"
		"global_atomic_and v44, %[p], v41, off offset:8" OLD "\n"  //= A4 G off=256*i+8 v=i+100 op=and operand=i+100 old=i+300
		"global_atomic_or %[p], v41, off offset:12\n"              //= A4 G off=256*i+12 v=i+100 op=or operand=i+100
		"global_atomic_xor %[p], v41, off offset:16\n"             //= A4 G off=256*i+16 v=i+100 op=xor operand=i+100
		"global_atomic_inc %[p], v41, off offset:20\n"             //= A4 G off=256*i+20 v=i+100 op=inc operand=i+100
		"global_atomic_dec %[p], v41, off offset:24\n"             //= A4 G off=256*i+24 v=i+100 op=dec operand=i+100
		"global_atomic_smin %[p], v41, off offset:28\n"            //= A4 G off=256*i+28 v=i+100 op=min operand=i+100
		"global_atomic_add_x2 v[50:51], %[p], v[40:41], off" OLD "\n" //= A8 G off=256*i v=i|i+100<<32 op=add operand=i|i+100<<32 old=i+200|i+300<<32
		"global_atomic_swap_x2 %[p], v[42:43], off offset:32\n"    //= A8 G off=256*i+32 v=i+200|i+300<<32 op=exchange operand=i+200|i+300<<32
		WAIT
		"global_atomic_cmpswap_x2 v[50:51], %[p], v[40:43], off offset:32" OLD "\n" //= A8 G off=256*i+32 v=i|i+100<<32 op=compare operand=i+200|i+300<<32 old=i+200|i+300<<32
		"flat_atomic_add v45, %[p], v40 offset:40" OLD "\n"        //= A4 G off=256*i+40 v=i op=add operand=i old=0
		"ds_add_u32 %[l], v41 offset:16\n"                         //= A4 S off=256*l+16 v=i+100 op=add operand=i+100
		"ds_add_rtn_u32 v52, %[l], v41\n"                          //= A4 S off=256*l v=i+100 op=add operand=i+100 old=i+200
		"ds_max_rtn_i32 v54, %[l], v40 offset:4\n"                 //= A4 S off=256*l+4 v=i op=max operand=i old=i+300
		"ds_wrxchg_rtn_b64 v[56:57], %[l], v[40:41]\n"             //= A8 S off=256*l v=i|i+100<<32 op=exchange operand=i|i+100<<32 old=2*i+300|i+300<<32
		CMPST("v55", "v40", "v43")                                 //= A4 S off=256*l v=i+300 op=compare operand=i old=i
		"ds_xor_b32 %[l], v41 offset:20\n"                         //= A4 S off=256*l+20 v=i+100 op=xor operand=i+100
		WAIT
		"v_xor_b32 v44, v44, v45\nv_xor_b32 v44, v44, v50\nv_xor_b32 v44, v44, v51\nv_xor_b32 v44, v44, v52\n"
		"v_xor_b32 v44, v44, v54\nv_xor_b32 v44, v44, v55\nv_xor_b32 v44, v44, v56\nv_xor_b32 %[got], v44, v57\n"
		: [got] "=&v"(got)
		: [i] "v"(i), [p] "v"(p), [o] "v"(256 * i), [b] "s"(UNIFORM(out)), [l] "v"((uint)(local char *)shared + 256 * LOCAL)
		: "v0", "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v54", "v55", "v56", "v57", "memory");
	((volatile global uint *)out)[64 * i + 30] = got;          //= S4 G off=256*i+120 v=any
}
