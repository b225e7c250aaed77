/* SPDX-License-Identifier: Apache-2.0 */
#include "addresses.h"

#include <string.h>

#define OPERATION(opcode) ((opcode) & 0x1ff)
#define OP_LDC 0x182               /* operations */
#define OP_LDCU 0x1ac
#define MAX_LOOK_BACK_INSNS 64     /* maximum number of instructions before a read that are searched for its index */

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

/* Does the instruction move a constant into a register (MOV R, imm; IMAD or HFMA2 R, RZ, RZ, imm)? */
static bool moves_constant(struct sass_insn insn, uint64_t *number)
{
	uint32_t opcode = sass_opcode(insn);
	bool product = (opcode == 0x424 || opcode == 0x435) && sass_field(insn, 24, 8) == SASS_RZ &&
		       sass_field(insn, 64, 8) == SASS_RZ;

	*number = sass_field(insn, 32, 32);
	return (opcode == 0x802 || product) && sass_field(insn, 12, 4) == SASS_PT;
}

/* May the instruction change the register, or transfer control? Except for class ASYNC, instructions write at most
 * four registers, from the one in bits 16..23 on. */
static bool may_change(struct sass_insn insn, uint32_t reg)
{
	uint32_t first = sass_field(insn, 16, 8);

	switch (sass_op_find(sass_opcode(insn))->class) {
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
	uint32_t op = OPERATION(sass_opcode(insn)), reg = sass_field(insn, 24, 8);
	bool indexed = op == OP_LDC || op == OP_LDCU;
	uint64_t number;

	*off = sass_constant_offset(insn);
	if (!indexed || reg == SASS_RZ)
		return true;
	if (op == OP_LDCU || code->jumps || code->entered[i])
		return false;
	for (uint32_t k = i; k-- && i - k < MAX_LOOK_BACK_INSNS;) {
		insn = sass_code_at(code, k);
		if (sass_field(insn, 16, 8) == reg && moves_constant(insn, &number)) {
			*off = (*off + number) & 0xffffffff;
			return true;
		}
		if (may_change(insn, reg) || code->entered[k])
			return false;
	}
	return false;
}
