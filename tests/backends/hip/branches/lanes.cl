/* SPDX-License-Identifier: Apache-2.0 */
// lanes diverge: in nested conditional blocks, in a loop that lanes leave in different rounds, and by v_cmpx
// launch 256 1 1 128 1 1
#include "asm.h"

kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = GROUP * 128 + LOCAL, got = 0, turn = 0;

	__asm__ volatile(
		"v_cmp_gt_u32_e32 " VCC ", 40, %[l]\n"
		SETTLE
		MASK("s_and_saveexec") " " REG("s40", "s[40:41]") ", " VCC "\n" //= taken=l>=40
		"s_cbranch_execz 1f\n"
		"v_mov_b32 %[got], 1\n"
		"v_cmp_lt_u32_e32 " VCC ", 7, %[l]\n"
		SETTLE
		MASK("s_and_saveexec") " " REG("s0", "s[0:1]") ", " VCC "\n" //= on=l<40 taken=l<=7
		"v_mov_b32 %[got], 2\n"
		MASK("s_or") " " EXEC ", " EXEC ", " REG("s0", "s[0:1]") "\n"
		"1: " MASK("s_or") " " EXEC ", " EXEC ", " REG("s40", "s[40:41]") "\n"
		/* lanes run l % 4 + 1 rounds */
		"v_and_b32 %[turn], 3, %[l]\n"
		MASK("s_mov") " " REG("s40", "s[40:41]") ", 0\n"
		MASK("s_mov") " " REG("s42", "s[42:43]") ", " EXEC "\n"
		"2: v_cmp_eq_u32_e32 " VCC ", 0, %[turn]\n"
		SETTLE
		MASK("s_or") " " REG("s40", "s[40:41]") ", " VCC ", " REG("s40", "s[40:41]") "\n"
		"v_add_u32_e32 %[turn], -1, %[turn]\n"
		"v_add_u32_e32 %[got], 4, %[got]\n"
		ANDN2 " " EXEC ", " EXEC ", " REG("s40", "s[40:41]") "\n" //= turns=4 on=l%4>=t taken=l%4>t
		"s_cbranch_execnz 2b\n"
		MASK("s_mov") " " EXEC ", " REG("s42", "s[42:43]") "\n"
		CMPX("gt_u32", "100", "%[l]")                              //= taken=l>=100
		"v_add_u32_e32 %[got], 64, %[got]\n"
		MASK("s_mov") " " EXEC ", " REG("s42", "s[42:43]") "\n"
		SETTLE
		: [got] "+v"(got), [turn] "+v"(turn) : [l] "v"(LOCAL)
		: "vcc", "scc", "s0", "s1", "s40", "s41", "s42", "s43");
	out[i] = got + in[i];
}
