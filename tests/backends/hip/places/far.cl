/* SPDX-License-Identifier: Apache-2.0 */
// accesses and barriers that are farther from each other and from the probes than a branch reaches
// launch 128 1 1 64 1 1
#include "forms.h"
#define NOPS(n) ".rept " #n "\nv_nop\n.endr\n"

kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = ID, low;
	global char *p = (global char *)out + 256 * i;

	__asm__ volatile(
		"v_mov_b32 v40, %[i]\n" ADD " v41, 100, v40\n"
		"s_mov_b32 vcc_lo, 0x55555555\n" "s_mov_b32 vcc_hi, 0x66666666\n"
		"s_mov_b32 s40, 0x1234567\ns_mov_b32 s41, 0\n"
		"1: s_cmp_eq_u32 s40, s40\n"
		"global_store_dword %[p], v41, off offset:4\n"             //= S4 G off=256*i+4 v=i+100
		NOPS(16000)
		MEET "\n"                                                  //= B
		NOPS(16720)
		"s_cbranch_scc0 1b\n"
		"global_store_dword %[p], v40, off offset:8\n"             //= S4 G off=256*i+8 v=i
		WAIT
		NOPS(40000)
		"global_load_dword v44, %[p], off offset:4\n"              //= L4 G off=256*i+4
		NOPS(40000)
		"global_load_dword v45, %[p], off offset:8\n"              //= L4 G off=256*i+8
		WAIT
		"v_xor_b32 v44, v44, v45\n"
		"s_cselect_b32 s41, 1, 0\n"
		"v_xor_b32 v44, s41, v44\nv_xor_b32 v44, s40, v44\nv_xor_b32 v44, vcc_lo, v44\nv_xor_b32 v44, vcc_hi, v44\n"
		"v_mov_b32 %[low], v44\n"
		: [low] "=v"(low)
		: [p] "v"(p), [i] "v"(i)
		: "v40", "v41", "v44", "v45", "vcc", "scc", "s40", "s41", "memory");
	out[64 * i] = low;                                                 //= S4 G off=256*i v=any
}
