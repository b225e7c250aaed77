/* SPDX-License-Identifier: Apache-2.0 */
// launch 128 1 1 64 1 1
#include "forms.h"

kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = ID, low, odd;
	global char *p = (global char *)out + 256 * i;

	__asm__ volatile(
		"v_mov_b32 v40, %[i]\n"
		ADD " v41, 100, v40\n" ADD " v42, 200, v40\n" ADD " v43, 300, v40\n"
		"v_lshlrev_b32 v48, 16, v40\nv_or_b32 v48, 0x1234, v48\n"
		"s_mov_b32 vcc_lo, 0x55555555\n" "s_mov_b32 vcc_hi, 0x66666666\n"
		"s_mov_b32 s40, 0x1234567\ns_mov_b32 m0, 0x7654321\n"
		"s_cmp_eq_u32 s40, s40\n"
		"global_store_byte %[p], v41, off offset:1\n"              //= S1 G off=256*i+1 v=i+100&255
		"global_store_short %[p], v41, off offset:2\n"             //= S2 G off=256*i+2 v=i+100
		"global_store_dword %[p], v41, off offset:4\n"             //= S4 G off=256*i+4 v=i+100
		"global_store_dwordx2 %[p], v[40:41], off offset:8\n"      //= S8 G off=256*i+8 v=i|i+100<<32
		"global_store_dwordx3 %[p], v[40:42], off offset:16\n"     //= S12 G off=256*i+16 v=i|i+100<<32 w=i+200
		"global_store_dwordx4 %[p], v[40:43], off offset:32\n"     //= S16 G off=256*i+32 v=i|i+100<<32 w=i+200|i+300<<32
		"global_store_byte_d16_hi %[p], v48, off offset:48\n"      //= S1 G off=256*i+48 v=i
		"global_store_short_d16_hi %[p], v48, off offset:50\n"     //= S2 G off=256*i+50 v=i
		"global_store_dword %[q], v42, off offset:-4" ONCE("STORE") "\n" //= S4 G off=256*i+60 v=i+200 hint=4
		"global_store_dword %[o], v43, %[base] offset:64\n"        //= S4 G off=256*i+64 v=i+300 hint=0
		"global_store_dwordx2 %[o], v[42:43], %[base]\n"           //= S8 G off=256*i v=i+200|i+300<<32
		WAIT
		"global_load_ubyte v44, %[p], off offset:1\n"              //= L1 G off=256*i+1
		"global_load_sbyte v45, %[p], off offset:1" ONCE("LOAD") "\n" //= L1 G off=256*i+1 hint=4
		"global_load_ushort v46, %[p], off offset:2\n"             //= L2 G off=256*i+2
		"global_load_sshort v47, %[p], off offset:2\n"             //= L2 G off=256*i+2
		"global_load_ubyte_d16 v50, %[p], off offset:1\n"          //= L1 G off=256*i+1
		"global_load_ubyte_d16_hi v50, %[p], off offset:1\n"       //= L1 G off=256*i+1
		"global_load_sbyte_d16 v51, %[p], off offset:1\n"          //= L1 G off=256*i+1
		"global_load_sbyte_d16_hi v51, %[p], off offset:1\n"       //= L1 G off=256*i+1
		"global_load_short_d16 v52, %[p], off offset:2\n"          //= L2 G off=256*i+2
		"global_load_short_d16_hi v52, %[p], off offset:50\n"      //= L2 G off=256*i+50
		WAIT
		"v_add_f32 v44, v44, v45\nv_xor_b32 v44, v44, v46\nv_xor_b32 v44, v44, v47\nv_xor_b32 v44, v44, v50\n"
		"v_xor_b32 v44, v44, v51\nv_xor_b32 v44, v44, v52\n"
		"global_load_dword v45, %[o], %[base] offset:64\n"         //= L4 G off=256*i+64
		"global_load_dwordx2 v[46:47], %[o], %[base] offset:8\n"   //= L8 G off=256*i+8
		"global_load_dwordx3 v[50:52], %[p], off offset:16\n"      //= L12 G off=256*i+16
		"global_load_dwordx4 v[54:57], %[p], off offset:32\n"      //= L16 G off=256*i+32
		"v_mov_b32 v58, %[a]\nv_mov_b32 v59, %[b]\n"
		"global_load_dwordx2 v[58:59], v[58:59], off offset:8\n"   //= L8 G off=256*i+8
		WAIT
		"v_xor_b32 v44, v44, v45\nv_xor_b32 v44, v44, v46\nv_xor_b32 v44, v44, v47\nv_xor_b32 v44, v44, v50\n"
		"v_xor_b32 v44, v44, v51\nv_xor_b32 v44, v44, v52\nv_xor_b32 v44, v44, v54\nv_xor_b32 v44, v44, v55\n"
		"v_xor_b32 v44, v44, v56\nv_xor_b32 v44, v44, v57\nv_xor_b32 v44, v44, v58\nv_xor_b32 v44, v44, v59\n"
		"s_cselect_b32 s41, 77, 5\ns_xor_b32 s40, s40, s41\ns_xor_b32 s40, s40, m0\n"
		"v_xor_b32 %[low], s40, v44\n"
		"v_mov_b32 %[odd], vcc_lo\nv_xor_b32 %[odd], vcc_hi, %[odd]\n"
		: [low] "=&v"(low), [odd] "=&v"(odd)
		: [i] "v"(i), [p] "v"(p), [q] "v"(p + 64), [o] "v"(256 * i), [base] "s"(UNIFORM(out)), [a] "v"((uint)(ulong)p), [b] "v"((uint)((ulong)p >> 32))
		: "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v54", "v55", "v56", "v57",
		  "v58", "v59", "s40", "s41", "vcc", "scc", "memory");
	((volatile global uint *)out)[64 * i + 30] = low;          //= S4 G off=256*i+120 v=any
	((volatile global uint *)out)[64 * i + 31] = odd;          //= S4 G off=256*i+124 v=any
}
