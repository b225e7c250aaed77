/* SPDX-License-Identifier: Apache-2.0 */
#include "code.h"

#include <errno.h>
#include <stdlib.h>

#include "addresses.h"
#include "callees.h"
#include "backends/cuda/sass/isa/constant.h"
#include "core/model/diag.h"
#include "live.h"

#define BANK_ADDRESSES 4
#define MAX_LOOK_BACK_INSNS 64     /* maximum number of instructions to search, backwards from a call, for
                                    * the load of the callee's address */

#define refuse(diag, ...) gpubpf_diag_refuse(diag, INJECT, __VA_ARGS__)

/* -- calls -- */

static int is_module_function(void *arg, const struct sass_relocation *address)
{
	const struct sass_cubin *c = arg;
	const struct sass_symbol *s = &c->symbols[address->symbol];

	return ELF64_ST_TYPE(s->head.st_info) == STT_FUNC && !sass_is_system_call(s);
}

/* Checks the function whose address instruction i loads from c[0x4]. It must be a function of the driver. If the
 * offset of the load is unknown, every function with an address in c[0x4] must be a function of the driver. */
static int check_callee(const struct sass_cubin *c, const struct sass_code *code, uint32_t i, struct gpubpf_diag *diag)
{
	struct sass_relocation address;
	uint64_t off;

	if (!sass_reads_address(code, i, &off))
		return sass_addresses_each(c, is_module_function, (void *)c) ?
			       refuse(diag, "it calls functions through pointers that are not valid in another "
					    "module") :
			       0;
	if (!sass_address_at(c, off, &address))
		return refuse(diag, "it calls a function whose address is not in the image");
	if (!sass_is_system_call(&c->symbols[address.symbol]))
		return refuse(diag, "it calls %.80s by an address that is not valid in another module",
			      c->symbols[address.symbol].name);
	return 0;
}

/* Checks a CALL.ABS. If an LDC shortly before the call loads the callee's address from c[0x4], checks that callee.
 * Otherwise records that the kernel calls functions through pointers. */
static int check_call(const struct sass_cubin *c, struct sass_code *code, uint32_t at, struct gpubpf_diag *diag)
{
	bool named = sass_opcode(sass_code_at(code, at)) == SASS_OP_CALL_NAMED;
	uint32_t reg = sass_code_at(code, at).operand[1].reg;

	if (named && code->entered[at] & SASS_RELOCATED)
		return 0;
	if (named)
		return refuse(diag, "it calls an absolute address without a relocation");
	for (uint32_t i = at; i-- && at - i < MAX_LOOK_BACK_INSNS;) {
		struct sass_insn insn = sass_code_at(code, i);

		if (sass_opcode(insn) == SASS_OP_LDC && insn.operand[0].reg == reg &&
		    sass_constant_bank(insn) == BANK_ADDRESSES)
			return check_callee(c, code, i, diag);
	}
	code->calls = code->by_pointer = true;
	return 0;
}

static int add_exit(struct sass_code *code, uint32_t i, struct gpubpf_diag *diag)
{
	if (!sass_is_plain_exit(sass_code_at(code, i)))
		return refuse(diag, "it has an EXIT in an unknown form");
	code->exits[code->nexits++] = i;
	return 0;
}

/* Records an instruction that reads a __constant__ variable. Refuses the kernel if no stub can load that constant
 * from memory. */
static int add_constant(struct sass_code *code, uint32_t i, struct gpubpf_diag *diag)
{
	struct sass_insn insn = sass_code_at(code, i);
	struct sass_constant k;
	bool may_be_less;

	if (!sass_decode_constant_read(insn, &k))
		return refuse(diag,
			      "its instruction at 0x%x (%s) reads a __constant__ variable in a form that twins "
			      "do not support",
			      i * SASS_INSN, sass_op(insn)->name);
	may_be_less = k.index != SASS_RZ && k.off >= SASS_CONSTANT_NEGATIVE;
	if (k.bytes > code->constants_size || (k.off > code->constants_size - k.bytes && !may_be_less) ||
	    code->constants_size > SASS_CONSTANTS_MAX_BYTES)
		return refuse(diag, "it reads a __constant__ variable that is not in the image");
	if (code->entered[i] & SASS_RELOCATED)
		return refuse(diag,
			      "its instruction at 0x%x reads a __constant__ variable, but the driver patches the "
			      "instruction, so a twin cannot move it",
			      i * SASS_INSN);
	code->constants[code->nconstants++] = i;
	code->entry_is_relocatable &= i != code->begin;
	return 0;
}

static void update_maxreg(struct sass_code *code, struct sass_insn insn)
{
	uint32_t regs = insn.operand[2].reg;

	if (!code->maxreg || regs < code->maxreg)
		code->maxreg = regs;
}

static void mark_entered(struct sass_code *code, uint32_t i, int64_t offset)
{
	int64_t at = (int64_t)(i + 1) * SASS_INSN + offset;

	if (at >= 0 && at % SASS_INSN == 0 && at / SASS_INSN < code->n)
		code->entered[at / SASS_INSN] |= SASS_ENTERED;
}

/* Marks the instructions that control may reach in another way than by falling through. */
static void find_entered(struct sass_code *code)
{
	for (uint32_t i = 0; i < code->n; i++) {
		struct sass_insn insn = sass_code_at(code, i);
		bool address = sass_is(insn, SASS_OPERATION_LEPC);
		enum sass_class class = sass_op(insn)->class;

		if (class == SASS_BRANCH || address)
			mark_entered(code, i, sass_branch(code->arch, insn));
		if (address)
			mark_entered(code, i, sass_lepc_offset(insn));
		code->jumps |= class == SASS_INDIRECT && !sass_is(insn, SASS_OPERATION_RET);
		code->jumps |= sass_opcode(insn) == SASS_OP_CALL_REGISTER;
	}
}

/* Returns the index of the instruction that the relative branch at index i targets. */
static int64_t branch_target(const struct sass_code *code, uint32_t i)
{
	return (int64_t)i + 1 + sass_branch(code->arch, sass_code_at(code, i)) / SASS_INSN;
}

static int decode_insn(const struct sass_cubin *c, struct sass_code *code, uint32_t i, struct gpubpf_diag *diag)
{
	struct sass_insn insn = sass_code_at(code, i);

	code->barrier |= sass_has(insn, SASS_SYNCHRONIZES);
	if (sass_constant_bank(insn) == SASS_CONSTANTS_BANK && add_constant(code, i, diag) < 0)
		return -EINVAL;
	switch (sass_op(insn)->class) {
	case SASS_UNKNOWN:
		return refuse(diag, "its instruction at 0x%x is unknown (opcode 0x%03x)", i * SASS_INSN,
			      sass_opcode(insn));
	case SASS_EXIT:
		return add_exit(code, i, diag);
	case SASS_CALL_ABSOLUTE:
		return check_call(c, code, i, diag);
	case SASS_MAXREG:
		update_maxreg(code, insn);
		break;
	case SASS_BRANCH:
		if (sass_opcode(insn) == SASS_OP_CALL_REGISTER)
			break;
		code->entry_is_relocatable &= i < code->begin || branch_target(code, i) != code->begin;
		break;
	case SASS_FIXED:
	case SASS_SLOW:
	case SASS_LOAD:
	case SASS_STORE:
	case SASS_ASYNC:
	case SASS_SYNC:
	case SASS_INDIRECT:
		break;
	}
	return 0;
}

bool sass_may_precede_entry(struct sass_insn insn)
{
	bool carry = sass_is(insn, SASS_OPERATION_IMAD) && insn.out != SASS_PT;

	return sass_has(insn, SASS_MOVABLE) && !carry && !insn.reuse;
}

/* Returns the last instruction that the branch to the entry probe may replace: the first instruction that waits for
 * a scoreboard, or the instruction before it. Kernels begin with slow reads, which then complete while the probe
 * runs. */
static uint32_t find_late_entry(const struct sass_code *code)
{
	uint32_t i = code->begin;

	while (i + 1 < code->n && sass_may_precede_entry(sass_code_at(code, i)) && !sass_wait_mask(sass_code_at(code, i)) &&
	       !code->entered[i + 1] && sass_constant_bank(sass_code_at(code, i + 1)) != SASS_CONSTANTS_BANK)
		i++;
	if (i > code->begin && (!sass_has(sass_code_at(code, i), SASS_MOVABLE) || sass_code_at(code, i).reuse))
		i--;
	return code->jumps ? code->begin : i;
}

static bool is_padding(const struct sass_code *code, uint32_t i)
{
	struct sass_insn insn = sass_code_at(code, i);

	return sass_opcode(insn) == SASS_OP_NOP ||
	       (sass_opcode(insn) == SASS_OP_BRA && sass_branch(code->arch, insn) == -SASS_INSN);
}

/* Returns the index of the last EXIT. Only padding and a branch to itself may follow that EXIT, and no branch may lead
 * to the code after it. Otherwise returns SASS_NONE. */
static uint32_t find_tail(const struct sass_code *code)
{
	uint32_t last = code->nexits ? code->exits[code->nexits - 1] : SASS_NONE;

	if (last == SASS_NONE || !sass_is_unconditional(sass_code_at(code, last)) || code->jumps)
		return SASS_NONE;
	for (uint32_t i = last + 1; i < code->n; i++)
		if (!is_padding(code, i))
			return SASS_NONE;
	for (uint32_t i = 0; i <= last; i++) {
		struct sass_insn insn = sass_code_at(code, i);

		if (sass_op(insn)->class == SASS_BRANCH &&
		    (int64_t)(i + 1) * SASS_INSN + sass_branch(code->arch, insn) > (int64_t)last * SASS_INSN)
			return SASS_NONE;
	}
	return last;
}

/* -- relocations of the code -- */

struct relocation_walk {
	const struct sass_cubin *cubin;
	uint32_t text;
	struct sass_code *code;
	struct gpubpf_diag *diag;
};

/* Marks the instruction that the driver patches, because it must stay at its address. If the driver writes an
 * address of this code into the instruction, marks the instruction at that address as entered. */
static int read_relocation(void *arg, const struct sass_relocation *r)
{
	const struct relocation_walk *f = arg;
	const struct sass_symbol *s = r->symbol < f->cubin->nsymbols ? &f->cubin->symbols[r->symbol] : NULL;
	struct sass_code *code = f->code;
	uint64_t i = r->off / SASS_INSN, to = r->addend / SASS_INSN;

	if (!s || i >= code->n || r->off % SASS_INSN)
		return refuse(f->diag, "the relocations of its code are invalid");
	code->entered[i] |= SASS_RELOCATED;
	code->entry_is_relocatable &= i != code->begin;
	if (s->section == f->text && to < code->n)
		code->entered[to] |= SASS_ENTERED;
	code->calls |= r->type == SASS_RELOCATION_CALL;
	return 0;
}

/* -- notes about single instructions in .nv.info (EIATTR_INSTR_REG_MAP) -- */

#define NOTE_SIZE 12
#define NOTE_ARRIVE 0x103          /* kind of a note: the NOP that compilers put before ARRIVES.LDGSTSBAR.64.ARVCNT */
#define NO_REGISTER UINT32_MAX

/* Reads a note about a NOP. The driver may replace this NOP, so the NOP must stay at its address. */
static int read_insn_note(struct sass_code *code, const uint8_t *mark, struct gpubpf_diag *diag)
{
	uint32_t off = sass_get32(mark), i = off / SASS_INSN;

	if (off % SASS_INSN || i >= code->n || sass_opcode(sass_code_at(code, i)) != SASS_OP_NOP ||
	    sass_get32(mark + 4) != NOTE_ARRIVE || sass_get32(mark + 8) != NO_REGISTER)
		return refuse(diag, "its .nv.info section has an unknown attribute 0x%02x of the instruction at 0x%x",
			      SASS_ATTR_INSTR_REG_MAP, off);
	code->entered[i] |= SASS_RELOCATED;
	code->entry_is_relocatable &= i != code->begin;
	return 0;
}

static int read_insn_notes(const struct sass_section *info, struct sass_code *code, struct gpubpf_diag *diag)
{
	struct sass_item item;
	size_t at = 0;
	int err = 0;

	while (!err && sass_item_next(info->data, info->size, &at, &item)) {
		if (item.attr != SASS_ATTR_INSTR_REG_MAP)
			continue;
		if (!item.data || item.size % NOTE_SIZE)
			return refuse(diag, "its .nv.info section is invalid");
		for (uint32_t k = 0; !err && k < item.size; k += NOTE_SIZE)
			err = read_insn_note(code, item.data + k, diag);
	}
	return err;
}

/* Checks the section of the kernel, allocates the arrays of *code, and reads relocations and notes. */
static int open_code(const struct sass_cubin *c, const struct sass_kernel *k, struct sass_code *code,
		     struct gpubpf_diag *diag)
{
	const struct sass_section *text = &c->sections[k->text];
	int err;

	code->arch = sass_arch_find(c->sm);
	if (!code->arch)
		return refuse(diag, "machine code for sm_%u is not supported", c->sm);
	if (!text->data || text->size % SASS_INSN || text->size > INT32_MAX)
		return refuse(diag, "its code is truncated");
	if (c->symbols[k->symbol].head.st_value)
		return refuse(diag, "its code does not start at the beginning of its section");
	if (!k->info || !k->regs)
		return refuse(diag, "the image does not state the number of registers of the kernel");
	if (k->regs > SASS_REGS_MAX)
		return refuse(diag, "the image states %u registers for the kernel, more than a thread can have", k->regs);
	code->n = text->size / SASS_INSN;
	code->begin = sass_preamble(code->arch, text->data, code->n);
	code->insns = calloc(code->n + 1, sizeof(*code->insns));
	if (!code->insns)
		return -ENOMEM;
	for (uint32_t i = 0; i < code->n; i++) {
		code->insns[i] = sass_read(text->data + (size_t)i * SASS_INSN);
		code->insns[i].at = i;
	}
	code->entry_is_relocatable = sass_has(sass_code_at(code, code->begin), SASS_MOVABLE);
	code->constants_size = c->sections[sass_section_find(c, SASS_CONSTANTS)].head.sh_size;
	code->exits = calloc(code->n, sizeof(*code->exits));
	code->constants = calloc(code->n, sizeof(*code->constants));
	code->entered = calloc(code->n, sizeof(*code->entered));
	if (!code->exits || !code->constants || !code->entered)
		return -ENOMEM;
	find_entered(code);
	err = sass_relocations_each(c, k->text, read_relocation, &(struct relocation_walk){ c, k->text, code, diag });
	return err < 0 ? err : read_insn_notes(&c->sections[k->info], code, diag);
}

static unsigned find_barriers_used(const struct sass_code *code)
{
	unsigned used = 0;

	for (uint32_t i = code->begin; i < code->n; i++)
		used |= sass_barriers_named(sass_code_at(code, i));
	return used;
}

static bool writes_slow_predicate(const struct sass_code *code)
{
	if (code->calls)
		return true;
	for (uint32_t i = 0; i < code->n; i++)
		if (sass_predicate_is_slow(sass_code_at(code, i)))
			return true;
	return false;
}

int sass_code_read(const struct sass_cubin *cubin, const struct sass_kernel *kernel, struct sass_code *code,
		   struct gpubpf_diag *diag)
{
	int err;

	*code = (struct sass_code){ 0 };
	err = open_code(cubin, kernel, code, diag);
	for (uint32_t i = 0; !err && i < code->n; i++)
		err = decode_insn(cubin, code, i, diag);
	if (!err && code->calls)
		err = sass_callees_check(cubin, kernel, code->by_pointer, diag);
	code->jumps |= code->calls;
	code->barrier |= code->calls;
	if (!err) {
		code->tail = find_tail(code);
		code->entry_limit = find_late_entry(code);
		code->slow_predicates = writes_slow_predicate(code);
		code->barriers_used = find_barriers_used(code);
	}
	if (err < 0)
		sass_code_finish(code);
	return err;
}

void sass_code_reserve(struct sass_code *code, uint32_t at)
{
	if (at == code->tail)
		code->tail = SASS_NONE;
	if (at == code->entry_limit && at > code->begin)
		code->entry_limit--;
}

void sass_code_finish(struct sass_code *code)
{
	free(code->insns);
	free(code->exits);
	free(code->constants);
	free(code->entered);
	*code = (struct sass_code){ 0 };
}
