/* SPDX-License-Identifier: Apache-2.0 */
// branches at the limit of their range, which inserted code would exceed: in a loop, and over each other. Some of them
// have a place, others have none. Some places are farther from the probes than two branches reach.
// launch 512 1 1 128 1 1
#include "asm.h"
#define NOPS(n) ".rept " #n "\nv_nop\n.endr\n"

kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = GROUP * 128 + LOCAL, got = 0;

	__asm__ volatile(
		"s_mov_b32 s40, 0\n"
		"1: v_add_u32_e32 %[got], 16, %[got]\n"
		"s_cmp_eq_u32 %[g], 2\n"
		"s_cbranch_scc1 2f\n"                                      //= turns=3 taken=g==2
		"v_add_u32_e32 %[got], 1, %[got]\n"
		"s_cbranch_execz 4f\n"
		NOPS(16330)
		"2: s_cmp_eq_u32 %[g], 1\n"
		"s_cbranch_scc0 3f\n"                                      //= turns=3 taken=g!=1
		"v_add_u32_e32 %[got], 2, %[got]\n"
		NOPS(16330)
		"3: s_add_u32 s40, s40, 1\n"
		"s_cmp_lt_u32 s40, 3\n"
		"s_cbranch_scc1 1b\n"                                      //= turns=3 taken=t<2
		"4: s_mov_b32 s40, 0\n"
		"s_branch 6f\n"
		"5: v_add_u32_e32 %[got], 4, %[got]\n"
		"s_cmp_eq_u32 %[g], 0\n"
		"s_cbranch_scc1 7f\n"                                      //= turns=2 on=(t==0)|(g!=0) taken=g==0
		NOPS(32730)
		"6: s_add_u32 s40, s40, 1\n"
		"s_cmp_lt_u32 s40, 3\n"
		"s_cbranch_scc1 5b\n"                                      //= turns=3 on=(t==0)|(g!=0) taken=t<2
		"7: v_add_u32_e32 %[got], 8, %[got]\n"
		NOPS(32730)
		"s_cmp_eq_u32 %[g], 1\n"
		"s_cbranch_scc1 8f\n"                                      //= taken=g==1
		"v_add_u32_e32 %[got], 64, %[got]\n"
		"8:\n"
		: [got] "+v"(got) : [g] "s"(GROUP), [l] "v"(LOCAL) : "vcc", "scc", "s40");
	out[i] = got + in[i];
}
