/* SPDX-License-Identifier: Apache-2.0 */
// launch 128 1 1 64 1 1
#include "forms.h"

kernel void k(global uint *out, global const uint *in, uint n)
{
	local uint shared[64 * 64];
	uint i = ID, got;

	__asm__ volatile(
		"v_mov_b32 v40, %[i]\n"
		ADD " v41, 100, v40\n" ADD " v42, 200, v40\n" ADD " v43, 300, v40\n"
		"v_lshlrev_b32 v48, 16, v40\nv_or_b32 v48, 0x1234, v48\n"
		"ds_write_b8 %[l], v41 offset:1\n"                         //= S1 S off=256*l+1 v=i+100&255
		"ds_write_b16 %[l], v41 offset:2\n"                        //= S2 S off=256*l+2 v=i+100
		"ds_write_b32 %[l], v41 offset:4\n"                        //= S4 S off=256*l+4 v=i+100
		"ds_write_b64 %[l], v[40:41] offset:8\n"                   //= S8 S off=256*l+8 v=i|i+100<<32
		"ds_write_b96 %[l], v[40:42] offset:16\n"                  //= S12 S off=256*l+16 v=i|i+100<<32 w=i+200
		"ds_write_b128 %[l], v[40:43] offset:32\n"                 //= S16 S off=256*l+32 v=i|i+100<<32 w=i+200|i+300<<32
		"ds_write_b8_d16_hi %[l], v48 offset:48\n"                 //= S1 S off=256*l+48 v=i
		"ds_write_b16_d16_hi %[l], v48 offset:50\n"                //= S2 S off=256*l+50 v=i
		"ds_write2_b32 %[l], v41, v42 offset0:20 offset1:30\n"     //= S4 S off=256*l+80 v=i+100 //= S4 S off=256*l+120 v=i+200
		"ds_write2_b64 %[l], v[40:41], v[42:43] offset0:8 offset1:9\n" //= S8 S off=256*l+64 v=i|i+100<<32 //= S8 S off=256*l+72 v=i+200|i+300<<32
		"ds_write2st64_b32 %[l], v42, v43 offset1:1\n"             //= S4 S off=256*l v=i+200 //= S4 S off=256*l+256 v=i+300
		WAIT
		"ds_read_u8 v44, %[l] offset:1\n"                          //= L1 S off=256*l+1
		"ds_read_i8 v45, %[l] offset:1\n"                          //= L1 S off=256*l+1
		"ds_read_u16 v46, %[l] offset:2\n"                         //= L2 S off=256*l+2
		"ds_read_i16 v47, %[l] offset:2\n"                         //= L2 S off=256*l+2
		"ds_read_u8_d16 v49, %[l] offset:48\n"                     //= L1 S off=256*l+48
		"ds_read_u8_d16_hi v49, %[l] offset:48\n"                  //= L1 S off=256*l+48
		"ds_read_i8_d16 v50, %[l] offset:48\n"                     //= L1 S off=256*l+48
		"ds_read_i8_d16_hi v50, %[l] offset:48\n"                  //= L1 S off=256*l+48
		"ds_read_u16_d16 v51, %[l] offset:50\n"                    //= L2 S off=256*l+50
		"ds_read_u16_d16_hi v51, %[l] offset:50\n"                 //= L2 S off=256*l+50
		WAIT
		"v_xor_b32 v44, v44, v45\nv_xor_b32 v44, v44, v46\nv_xor_b32 v44, v44, v47\nv_xor_b32 v44, v44, v49\n"
		"v_xor_b32 v44, v44, v50\nv_xor_b32 v44, v44, v51\n"
		"ds_read_b32 v45, %[l] offset:4\n"                         //= L4 S off=256*l+4
		"ds_read_b64 v[46:47], %[l] offset:8\n"                    //= L8 S off=256*l+8
		"ds_read_b96 v[50:52], %[l] offset:16\n"                   //= L12 S off=256*l+16
		"ds_read_b128 v[54:57], %[l] offset:32\n"                  //= L16 S off=256*l+32
		WAIT
		"v_xor_b32 v44, v44, v45\nv_xor_b32 v44, v44, v46\nv_xor_b32 v44, v44, v47\nv_xor_b32 v44, v44, v50\n"
		"v_xor_b32 v44, v44, v51\nv_xor_b32 v44, v44, v52\nv_xor_b32 v44, v44, v54\nv_xor_b32 v44, v44, v57\n"
		"v_mov_b32 v58, %[l]\nv_mov_b32 v54, %[l]\n"
		"ds_read2_b32 v[58:59], v58 offset0:20 offset1:30\n"       //= L4 S off=256*l+80 //= L4 S off=256*l+120
		"ds_read2_b64 v[54:57], v54 offset0:8 offset1:9\n"         //= L8 S off=256*l+64 //= L8 S off=256*l+72
		"ds_read2st64_b32 v[50:51], %[l] offset1:1\n"              //= L4 S off=256*l //= L4 S off=256*l+256
		"ds_swizzle_b32 v45, v40 offset:swizzle(SWAP,1)\n"
		"ds_bpermute_b32 v46, v40, v41\n"
		WAIT
		"v_xor_b32 v44, v44, v58\nv_xor_b32 v44, v44, v59\nv_xor_b32 v44, v44, v54\nv_xor_b32 v44, v44, v55\n"
		"v_xor_b32 v44, v44, v56\nv_xor_b32 v44, v44, v57\nv_xor_b32 v44, v44, v45\nv_xor_b32 v44, v44, v46\n"
		"v_xor_b32 %[got], v44, v50\n"
		: [got] "=&v"(got)
		: [i] "v"(i), [l] "v"((uint)(local char *)shared + 256 * LOCAL)
		: "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v54", "v55", "v56", "v57",
		  "v58", "v59", "memory");
	__builtin_amdgcn_s_barrier();                              //= B
	((volatile global uint *)out)[i] = got;                    //= S4 G off=4*i v=any
}
