/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps: tests how the reader finds the target of a call from the instructions that set its scalar registers. It must
 * find no target if another instruction overwrites one of these registers.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/hip/amdgpu/analysis/calls.h"
#include "tests/tap.h"

#define HERE 0x1000
#define CALLED (HERE + 4 + 0x100) /* address after s_getpc_b64, the first instruction, plus 0x100 */
#define GETPC "s_getpc_b64  s[4:5]\n"
#define ADDS "s_add_u32  s4, s4, 0x100\ns_addc_u32  s5, s5, lit(0x0)\n"
#define CALL "s_swappc_b64  s[30:31], s[4:5]\n"

/*
 * Returns the target of the last instruction. Each line is "name operands"; the first instruction takes 4 bytes, the
 * others 8.
 */
static uint64_t called(const char *lines)
{
	struct hip_steps steps = { 0 };
	char *text = strdup(lines);
	uint64_t callee;
	uint32_t off = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), off += off ? 8 : 4) {
		char *operands = line + strcspn(line, " ");

		*operands++ = 0;
		if (hip_steps_add(&steps, line, operands, off, HIP_FALLS_THROUGH, 0) < 0)
			abort();
	}
	if (hip_steps_follow(&steps, 0, HERE, -1, NULL) < 0)
		abort();
	callee = steps.list[steps.n - 1].callee;
	free(steps.list);
	free(text);
	return callee;
}

static void expect_target(const char *what, const char *lines, uint64_t wanted)
{
	uint64_t callee = called(lines);

	ok(callee == wanted, "%s: to 0x%llx", what, (unsigned long long)callee);
}

int main(void)
{
	expect_target("the address that was made", GETPC ADDS CALL, CALLED);
	expect_target("its upper half is extended", GETPC "s_sext_i32_i16  s5, s5\n" ADDS CALL, CALLED);
	expect_target("waits stand between", GETPC "s_nop  0\ns_add_u32  s4, s4, 0x100\ns_delay_alu  instid0(SALU_CYCLE_1)\n"
		      "s_addc_u32  s5, s5, lit(0x0)\n" CALL, CALLED);
	expect_target("moved", GETPC ADDS "s_mov_b64  s[8:9], s[4:5]\ns_mov_b32  s4, s8\ns_mov_b32  s5, s9\n" CALL, CALLED);
	expect_target("the lower half is another's, extended", GETPC ADDS "s_sext_i32_i16  s4, s9\n" CALL, UINT64_MAX);
	expect_target("the upper half is", GETPC ADDS "s_sext_i32_i16  s5, s9\n" CALL, UINT64_MAX);
	expect_target("the lower half is its own, extended", GETPC ADDS "s_sext_i32_i16  s4, s4\n" CALL, UINT64_MAX);
	expect_target("the sum is in no such register", "s_getpc_b64  s[0:1]\ns_add_u32  vcc_lo, s0, 0x100\ns_addc_u32  s1, s1, lit(0x0)\n"
		      "s_swappc_b64  s[30:31], s[0:1]\n", UINT64_MAX);
	expect_target("nor its upper half", "s_getpc_b64  s[0:1]\ns_add_u32  s0, s0, 0x100\ns_addc_u32  vcc_lo, s1, lit(0x0)\n"
		      "s_swappc_b64  s[30:31], s[0:1]\n", UINT64_MAX);
	expect_target("the carry is another's", GETPC "s_add_u32  s4, s4, 0x100\ns_add_u32  s6, s7, s8\ns_addc_u32  s5, s5, lit(0x0)\n" CALL, UINT64_MAX);
	return done();
}
