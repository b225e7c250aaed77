/* SPDX-License-Identifier: Apache-2.0 */
#include "operands.h"

#include "bits.h"

#define ALL_SM UINT32_MAX
#define MIN_SM_DESCRIPTOR 80       /* from this architecture on a uniform register can be a memory descriptor */

static const struct extra_form {
	uint16_t opcode;
	char operands[SASS_OPERANDS + 1];
	uint32_t until; /* from this architecture on, isa.def describes the opcode, and this row does not apply */
} extra_forms[] = {
#define SASS_NAMES(opcode, operands) { opcode, operands, ALL_SM },
#define SASS_NAMED_UNTIL(opcode, operands, sm) { opcode, operands, sm },
#include "operands.def"
};

static const struct extra_form *find_extra_form(const struct sass_arch *arch, struct sass_insn insn)
{
	for (size_t i = 0; i < sizeof(extra_forms) / sizeof(*extra_forms); i++)
		if (extra_forms[i].opcode == sass_opcode(insn) && arch->sm < extra_forms[i].until)
			return &extra_forms[i];
	return NULL;
}

/* Does the opcode have variants with more registers than isa.def describes? isa.def describes only the variants that
 * probes have. */
static bool has_unlisted_variants(const struct sass_arch *arch, struct sass_insn insn)
{
	switch (sass_opcode(insn)) {
	case 0x984:
	case SASS_OP_STS:
	case SASS_OP_ATOMS:
	case SASS_OP_BAR:
	case 0x98f: /* LDS, CCTL */
		return true;
	case 0x981:
	case 0x986:
	case 0x98e:
	case 0x9a8: /* LDG, STG, RED, ATOMG: the address includes a uniform register */
		return arch->sm < MIN_SM_DESCRIPTOR && (insn.mode & 1);
	case 0x7ac: /* LDCU with an index */
		return insn.operand[1].reg != SASS_RZ;
	default:
		return sass_is_bra_div(insn);
	}
}

bool sass_operands_known(const struct sass_arch *arch, struct sass_insn insn)
{
	return find_extra_form(arch, insn) || (sass_form(insn) && !has_unlisted_variants(arch, insn));
}

static struct sass_operand extra_operand(const struct extra_form *other, struct sass_insn insn, unsigned i)
{
	struct sass_operand o = insn.operand[i];

	o.reg |= o.rest;
	o.rest = 0;
	o.uniform = false;
	o.n = o.width = other->operands[i] == 'D' || other->operands[i] == 'S' ? 2 : 1;
	if (o.reg == SASS_RZ)
		o.reg = o.n = 0;
	return o;
}

static bool is_named(const struct sass_form *form, struct sass_insn insn, unsigned i)
{
	return form->operands[i] != '-' && (form->operands[i] != 'y' || (insn.mode & 1));
}

unsigned sass_operands_named(const struct sass_arch *arch, struct sass_insn insn, struct sass_operand named[SASS_OPERANDS])
{
	static const uint8_t swapped[SASS_OPERANDS] = { 0, 1, 3, 2 }; /* C is in the field of B */
	const struct extra_form *other = find_extra_form(arch, insn);
	const struct sass_form *form = other || !sass_operands_known(arch, insn) ? NULL : sass_form(insn);
	unsigned n = 0;

	for (unsigned k = 0; k < SASS_OPERANDS; k++) {
		unsigned i = form && form->how == SASS_DEMOTE_SWAP ? swapped[k] : k;

		if (other && other->operands[i] != '-')
			named[n++] = extra_operand(other, insn, i);
		else if (form && is_named(form, insn, i))
			named[n++] = insn.operand[i];
	}
	return n;
}
