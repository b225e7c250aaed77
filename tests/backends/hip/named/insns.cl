/* SPDX-License-Identifier: Apache-2.0 */
// instructions of all kinds, selected by opcode, with the values of their registers before them
// launch 256 1 1 128 1 1
#include "../branches/asm.h"

kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = GROUP * 128 + LOCAL, got = 0;

	__asm__ volatile(
		"v_mov_b32 v40, 7\n"
		"v_mad_u32_u24 v40, %[i], v40, %[l]\n"                     //= insn:v_mad_u32_u24* a=7 b=i c=7 d=l
		"s_mov_b32 s40, 0x1234\n"
		"s_mov_b32 s41, 3\n"
		"s_lshr_b64 s[42:43], s[40:41], 4\n"                       //= insn:s_lshr_b64 b=0x300001234 a=any
		"s_nop 3\n"
		"s_mov_b32 m0, s41\n"
		"s_bitset1_b32 s0, 5\n"                                    //= insn:s_bitset1* a=any
		"s_mov_b32 s0, 77\n"
		"s_mov_b32 s1, s0\n"
		"v_xor_b32 v41, s0, v40\n"                                 //= insn:v_xor_b32* a=any b=77 c=7*i+l
		"v_mov_b32 v42, m0\n"
		"v_cmp_gt_u32_e32 " VCC ", 50, %[l]\n"
		SETTLE
		MASK("s_and_saveexec") " " REG("s40", "s[40:41]") ", " VCC "\n"
		"s_cbranch_execz 1f\n"                                     //= insn:s_cbranch_execz on=l<50
		"v_add_u32_e32 v42, v41, v42\n"
		"1: " MASK("s_or") " " EXEC ", " EXEC ", " REG("s40", "s[40:41]") "\n"
		"v_xad_u32 v43, v42, v41, v42\n"                           //= insn:v_xad_u32* a=any b=any c=any d=any
		"v_mov_b32 %[got], v43\n"
		: [got] "=v"(got) : [i] "v"(i), [l] "v"(LOCAL)
		: "vcc", "scc", "s0", "s1", "s40", "s41", "s42", "s43", "v40", "v41", "v42", "v43", "m0");
	out[i] = got + in[i];
}
