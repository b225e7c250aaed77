/* SPDX-License-Identifier: Apache-2.0 */
// launch 128 1 1 64 1 1
#include "forms.h"

#define SET(n) "v_mov_b32 v" #n ", " #n "\n"
#define SUM(n) ADD " v1, v1, v1\n" "v_xor_b32 v1, v1, v" #n "\n"
#define ALL(f) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15) f(16) f(17) f(18) f(19) f(20) f(21) \
	f(22) f(23) f(24) f(25) f(26) f(27) f(28) f(29) f(30) f(31) f(32) f(33) f(34) f(35) f(36) f(37) f(38) f(39)

/* A probe must preserve the rounding mode and all low vector registers. The kernel computes a sum
 * of these registers, which shows a change. The processor does not have twice as many registers. */
kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = ID, got;

	__asm__ volatile(
		"v_mov_b32 v60, %[a]\nv_mov_b32 v61, %[b]\nv_mov_b32 v62, %[i]\nv_mov_b32 v1, %[i]\n"
		ALL(SET)
		"s_setreg_imm32_b32 hwreg(1, 0, 4), 3\n"
		"global_store_dword v[60:61], v62, off\n"                  //= S4 G off=4*i v=i
		"s_getreg_b32 s40, hwreg(1, 0, 4)\n"
		"s_setreg_imm32_b32 hwreg(1, 0, 4), 0\n"
		ALL(SUM)
		"v_xor_b32 %[got], s40, v1\n"
		: [got] "=v"(got)
		: [i] "v"(i), [a] "v"((uint)(ulong)(out + i)), [b] "v"((uint)((ulong)(out + i) >> 32))
		: "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18",
		  "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35",
		  "v36", "v37", "v38", "v39", "v60", "v61", "v62", "v150", "s40", "memory");
	((volatile global uint *)out)[128 + i] = got;              //= S4 G off=512+4*i v=any
}
