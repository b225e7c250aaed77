/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line places in SPIR-V: each function has its own places, one per line, even if inlined functions have the same lines.
 */
#include "backends/spirv/spirv/module/spv.h"
#include "tests/tap.h"

#define FUNCTIONS 8
#define LENGTH 64   /* instructions per function, equal to the table's slots, so that functions collide in it */
#define WORDS 4     /* maximum number of words of an instruction */

static uint32_t words[FUNCTIONS * LENGTH * WORDS];
static struct gpubpf_spv_insn insns[FUNCTIONS * LENGTH];

/*
 * Makes a function with an instruction at line 7 and another instruction. In odd functions the other one is at line 7
 * of another file.
 */
static void put_function(uint32_t first)
{
	static const uint16_t ops[LENGTH] = {
		SpvOpFunction, SpvOpLabel, SpvOpLine, SpvOpNop, SpvOpLine, [LENGTH - 2] = SpvOpReturn, SpvOpFunctionEnd
	}; /* all other instructions are SpvOpNop, which is 0 */

	for (uint32_t i = first; i < first + LENGTH; i++) {
		insns[i] = (struct gpubpf_spv_insn){ .at = i * WORDS, .op = ops[i - first], .n = WORDS };
		words[i * WORDS + 1] = 3; /* the file, */
		words[i * WORDS + 2] = 7; /* and the line */
	}
	if (first / LENGTH % 2)
		words[(first + 4) * WORDS + 1] = 4;
}

int main(void)
{
	struct gpubpf_spv m = { .words = words, .nwords = FUNCTIONS * LENGTH * WORDS, .insn = insns, .ninsns = FUNCTIONS * LENGTH };
	struct gpubpf_pool pool = { 0 };

	for (uint32_t f = 0; f < FUNCTIONS; f++)
		put_function(f * LENGTH);
	ok(!gpubpf_spv_lines(&m, &pool), "lines are read");
	for (uint32_t f = 0; m.line && f < FUNCTIONS; f++) {
		const uint32_t *line = m.line + f * LENGTH;
		uint32_t begun = 0;

		for (uint32_t i = 0; i < LENGTH; i++)
			begun += line[i] != 0;
		ok(line[3] == f * LENGTH + 3, "function %u has its line", f);
		ok(begun == (f % 2 ? 2 : 1) && !line[5] == !(f % 2), "once, and that of another file for itself");
	}
	gpubpf_pool_finish(&pool);
	return done();
}
