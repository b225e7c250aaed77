/* SPDX-License-Identifier: Apache-2.0 */
#include "addresses.h"

#include <string.h>

#define MAX_LOOK_BACK_INSNS 64     /* maximum number of instructions to search, backwards from an indexed
                                    * read, for the move to its index register */

struct address_walk {
	const struct sass_cubin *cubin;
	int (*fn)(void *arg, const struct sass_relocation *address);
	void *arg;
};

static int visit_address(void *arg, const struct sass_relocation *r)
{
	const struct address_walk *a = arg;

	return r->type == SASS_RELOCATION_64 && r->symbol < a->cubin->nsymbols ? a->fn(a->arg, r) : 0;
}

int sass_addresses_each(const struct sass_cubin *c, int (*fn)(void *arg, const struct sass_relocation *address), void *arg)
{
	struct address_walk addresses = { c, fn, arg };

	return sass_relocations_each(c, sass_section_find(c, ".nv.constant4"), visit_address, &addresses);
}

static int match_offset(void *arg, const struct sass_relocation *address)
{
	struct sass_relocation *wanted = arg;

	if (address->off != wanted->off)
		return 0;
	*wanted = *address;
	return 1;
}

bool sass_address_at(const struct sass_cubin *c, uint64_t off, struct sass_relocation *address)
{
	address->off = off;
	return sass_addresses_each(c, match_offset, address);
}

bool sass_is_system_call(const struct sass_symbol *s)
{
	return ELF64_ST_TYPE(s->head.st_info) == STT_FUNC && !s->section &&
	       (!strcmp(s->name, "vprintf") || !strcmp(s->name, "__assertfail"));
}

/* -- the offset of a read -- */

/* Returns true if the instruction may write the register or transfer control. An instruction of class ASYNC may
 * write any number of registers. The others write at most four registers in sequence; bits 16..23 of the instruction
 * name the first. */
static bool may_change(struct sass_insn insn, uint32_t reg)
{
	uint32_t first = sass_operand_bits(insn, 0);

	switch (sass_op(insn)->class) {
	case SASS_FIXED:
	case SASS_SLOW:
	case SASS_LOAD:
	case SASS_STORE:
		return first != SASS_RZ && first <= reg && reg < first + 4;
	default:
		return true;
	}
}

bool sass_reads_address(const struct sass_code *code, uint32_t i, uint64_t *off)
{
	struct sass_insn insn = sass_code_at(code, i);
	uint32_t reg = insn.operand[1].reg;
	bool by_uniform = sass_is(insn, SASS_OPERATION_LDCU), indexed = by_uniform || sass_is(insn, SASS_OPERATION_LDC);
	uint32_t number;

	*off = sass_constant_offset(insn);
	if (!indexed || reg == SASS_RZ)
		return true;
	if (by_uniform || code->jumps || code->entered[i])
		return false;
	for (uint32_t k = i; k-- && i - k < MAX_LOOK_BACK_INSNS;) {
		insn = sass_code_at(code, k);
		if (insn.operand[0].reg == reg && sass_is_constant_move(insn, &number)) {
			*off = (*off + number) & 0xffffffff;
			return true;
		}
		if (may_change(insn, reg) || code->entered[k])
			return false;
	}
	return false;
}
