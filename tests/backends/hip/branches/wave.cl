/* SPDX-License-Identifier: Apache-2.0 */
// branches that a whole wave takes: on a scalar condition, and on an empty vector condition
// launch 512 1 1 128 1 1
#include "asm.h"

kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = GROUP * 128 + LOCAL, got = 0;

	__asm__ volatile(
		"s_cmp_eq_u32 %[g], 2\n"
		"s_cbranch_scc1 1f\n"                                      //= taken=g==2
		"v_add_u32_e32 %[got], 1, %[got]\n"
		"1: s_cmp_eq_u32 %[g], 1\n"
		"s_cbranch_scc0 2f\n"                                      //= taken=g!=1
		"v_add_u32_e32 %[got], 2, %[got]\n"
		"2: v_cmp_gt_u32_e32 " VCC ", 64, %[l]\n"
		SETTLE
		"s_cbranch_vccz 3f\n"                                      //= taken=l>=64
		"v_add_u32_e32 %[got], 4, %[got]\n"
		"3: s_cbranch_vccnz 4f\n"                                  //= taken=l<64
		"v_add_u32_e32 %[got], 8, %[got]\n"
		"4: s_mov_b32 s40, 0\n"
		"5: v_add_u32_e32 %[got], 16, %[got]\n"
		"s_add_u32 s40, s40, 1\n"
		"s_cmp_lt_u32 s40, 3\n"
		"s_cbranch_scc1 5b\n"                                      //= turns=3 taken=t<2
		: [got] "+v"(got) : [g] "s"(GROUP), [l] "v"(LOCAL) : "vcc", "scc", "s40");
	out[i] = got + in[i];
}
