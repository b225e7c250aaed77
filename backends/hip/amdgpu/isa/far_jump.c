/* SPDX-License-Identifier: Apache-2.0 */
#include "far_jump.h"

#include <stdio.h>
#include <string.h>

static bool is_one_of(const char *name, const char *a, const char *b)
{
	return !strcmp(name, a) || !strcmp(name, b);
}

/* Returns true if the instruction adds a 32-bit literal to register s<reg>. */
static bool adds_to(const char *operands, uint32_t size, uint32_t reg)
{
	unsigned to, from;
	int end = 0;

	return size == 8 && sscanf(operands, " s%3u, s%3u, %n", &to, &from, &end) == 2 && end && to == reg && from == reg;
}

static bool is_pair(const char *operands, uint32_t *reg)
{
	unsigned first, last;
	int end = 0;

	if (sscanf(operands, " s[%3u:%3u]%n", &first, &last, &end) != 2 || !end || last != first + 1)
		return false;
	*reg = first;
	return true;
}

static uint32_t literal_of(const uint8_t *insn)
{
	uint32_t word;

	memcpy(&word, insn + 4, sizeof(word));
	return word;
}

bool hip_far_jump_match(struct hip_far_jump *f, const char *name, const char *operands, const uint8_t *insn,
			uint32_t off, uint32_t size)
{
	uint32_t matched = f->matched, reg;

	if (is_one_of(name, "s_nop", "s_wait_alu") || !strcmp(name, "s_delay_alu"))
		return false;
	f->matched = 0;
	if (!strcmp(name, "s_getpc_b64") && is_pair(operands, &reg)) {
		*f = (struct hip_far_jump){ 1, reg, off, off + 4 };
	} else if (matched == 1 && is_one_of(name, "s_add_u32", "s_add_co_u32") && adds_to(operands, size, f->reg)) {
		f->to += literal_of(insn);
		f->matched = 2;
	} else if (matched == 2 && is_one_of(name, "s_addc_u32", "s_add_co_ci_u32") &&
		   adds_to(operands, size, f->reg + 1)) {
		f->to += (uint64_t)literal_of(insn) << 32;
		f->matched = 3;
	}
	return matched == 3 && !strcmp(name, "s_setpc_b64") && is_pair(operands, &reg) && reg == f->reg;
}
