/* SPDX-License-Identifier: Apache-2.0 */
// a probe runs before s_set_gpr_idx_on; before s_set_gpr_idx_off it would run in indexed register mode
// launch 128 1 1 64 1 1
// only gfx90a gfx942
// refused insn:s_set_gpr_idx_off: registers are indexed
kernel void k(global uint *out, global const uint *in, uint n)
{
	uint got;

	__asm__ volatile(
		"v_mov_b32 v40, 1\n"
		"v_mov_b32 v41, 2\n"
		"v_mov_b32 v42, 3\n"
		"s_mov_b32 s40, 2\n"
		"s_set_gpr_idx_on s40, gpr_idx(SRC0)\n"                    //= insn:s_set_gpr_idx_on a=2
		"v_mov_b32 %[got], v40\n"
		"s_set_gpr_idx_off\n"
		: [got] "=v"(got) : : "m0", "s40", "v40", "v41", "v42");
	out[ID] = got + in[ID];
}
