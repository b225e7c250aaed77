/* SPDX-License-Identifier: Apache-2.0 */
#include "code.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/diag.h"

#define OPERATION(opcode) ((opcode) & 0x1ff)
#define FORM(opcode) ((opcode) >> 9)
#define FORM_C_CONSTANT 3
#define FORM_B_CONSTANT 5
#define LAST_ALU 0x117             /* operations up to here take a constant as an operand in those forms */
#define BANK_VARIABLES 3           /* __constant__ */
#define BANK_ADDRESSES 4
#define R_CUDA_64 2                /* a relocation: the address of a symbol */
#define LOOK_BACK 64               /* instructions between the read of a callee's address and the call */

__attribute__((format(printf, 2, 3)))
static int refuse(struct gpubpf_diag *diag, const char *fmt, ...)
{
	char text[240];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "%s", text);
}

int sass_constant_bank(struct sass_insn insn)
{
	uint32_t op = OPERATION(sass_opcode(insn)), form = FORM(sass_opcode(insn));
	bool operand = op <= LAST_ALU && (form == FORM_C_CONSTANT || form == FORM_B_CONSTANT);

	if (!operand && op != 0x182 /* LDC */ && op != 0x1ac /* LDCU */)
		return -1;
	return sass_field(insn, 54, 5);
}

bool sass_address_at(const struct sass_cubin *c, uint64_t off, struct sass_address *address)
{
	uint32_t bank = sass_section_find(c, ".nv.constant4");
	const struct sass_section *rel = &c->sections[bank ? sass_relocations_of(c, bank) : 0];
	size_t size = rel->head.sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);

	for (size_t at = 0; rel->data && at + size <= rel->size; at += size) {
		Elf64_Rela r = { 0 };

		memcpy(&r, rel->data + at, size);
		if (r.r_offset != off || ELF64_R_TYPE(r.r_info) != R_CUDA_64 || ELF64_R_SYM(r.r_info) >= c->nsymbols)
			continue;
		*address = (struct sass_address){ off, ELF64_R_SYM(r.r_info), r.r_addend };
		return true;
	}
	return false;
}

/* The driver's own functions that a module of its own can call as well: their state is the context's. */
static bool is_system_call(const char *name)
{
	return !strcmp(name, "vprintf") || !strcmp(name, "__assertfail");
}

/* A call by address is understood where the address was read from c[0x4] a little before, and is the driver's. */
static int check_call(const struct sass_cubin *c, const struct sass_code *code, uint32_t at, struct gpubpf_diag *diag)
{
	uint32_t reg = sass_field(sass_code_at(code, at), 24, 8);
	struct sass_address address;

	for (uint32_t i = at; i-- && at - i < LOOK_BACK;) {
		struct sass_insn insn = sass_code_at(code, i);

		if (sass_opcode(insn) != SASS_OP_LDC || sass_field(insn, 16, 8) != reg ||
		    sass_constant_bank(insn) != BANK_ADDRESSES || sass_field(insn, 24, 8) != SASS_RZ)
			continue;
		if (!sass_address_at(c, sass_field(insn, 38, 16), &address))
			break;
		if (is_system_call(c->symbols[address.symbol].name))
			return 0;
		return refuse(diag, "it calls %.80s", c->symbols[address.symbol].name);
	}
	return refuse(diag, "it calls functions by pointers, which mean nothing in another module");
}

/* EXIT with its predicates and without any other bit that is not control. */
static bool is_plain_exit(struct sass_insn i)
{
	return (i.lo & ~0xf000ull) == SASS_OP_EXIT && !(i.hi & ((1ull << 41) - 1) & ~(15ull << 23));
}

static int add_exit(struct sass_code *code, uint32_t i, struct gpubpf_diag *diag)
{
	if (!is_plain_exit(sass_code_at(code, i)))
		return refuse(diag, "it has an EXIT of a kind that is not known");
	code->exits[code->nexits++] = i;
	return 0;
}

static void take_maxreg(struct sass_code *code, struct sass_insn insn)
{
	uint32_t regs = sass_field(insn, 32, 8);

	if (!code->maxreg || regs < code->maxreg)
		code->maxreg = regs;
}

static int take_insn(const struct sass_cubin *c, struct sass_code *code, uint32_t i, struct gpubpf_diag *diag)
{
	struct sass_insn insn = sass_code_at(code, i);
	uint32_t op = OPERATION(sass_opcode(insn));

	code->barrier |= op == 0x11d /* BAR */ || op == 0x1c7 /* UCGABAR */ || op == 0x1a7 /* SYNCS */;
	if (sass_constant_bank(insn) == BANK_VARIABLES)
		return refuse(diag, "it reads __constant__ variables, which a twin in another module would not see change");
	switch (sass_op_find(sass_opcode(insn))->class) {
	case SASS_UNKNOWN:
		return refuse(diag, "its instruction at 0x%x is not known (0x%03x)", i * SASS_INSN, sass_opcode(insn));
	case SASS_EXIT:
		return add_exit(code, i, diag);
	case SASS_CALL_ABSOLUTE:
		return check_call(c, code, i, diag);
	case SASS_MAXREG:
		take_maxreg(code, insn);
		break;
	case SASS_BRANCH:
		code->entry_moves &= (int64_t)(i + 1) * SASS_INSN + sass_branch(code->arch, insn) != 0;
		break;
	case SASS_FIXED: case SASS_SLOW: case SASS_LOAD: case SASS_STORE: case SASS_ASYNC: case SASS_SYNC: case SASS_INDIRECT:
		break;
	}
	return 0;
}

/* What compilers put first reads a constant or a special register. */
static bool can_move(struct sass_insn first)
{
	static const uint16_t known[] = { 0x002, 0x005, 0x024, 0x0b9, 0x119, 0x182, 0x1c3 };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (OPERATION(sass_opcode(first)) == known[i])
			return true;
	return false;
}

/* What is to be read of the kernel at all. */
static int open_code(const struct sass_cubin *c, const struct sass_kernel *k, struct sass_code *code,
		     struct gpubpf_diag *diag)
{
	const struct sass_section *text = &c->sections[k->text];

	code->arch = sass_arch_find(c->sm);
	if (!code->arch)
		return refuse(diag, "machine code for sm_%u is not known", c->sm);
	if (!text->data || text->size % SASS_INSN || text->size > INT32_MAX)
		return refuse(diag, "its code is cut off");
	if (c->symbols[k->symbol].head.st_value)
		return refuse(diag, "its code does not begin its section");
	if (sass_relocations_of(c, k->text))
		return refuse(diag, "its code has addresses in it that a linker fills in");
	if (!k->info || !k->regs)
		return refuse(diag, "the image does not say how many registers it has");
	code->bytes = text->data;
	code->n = text->size / SASS_INSN;
	code->entry_moves = can_move(sass_code_at(code, 0));
	code->exits = calloc(code->n, sizeof(*code->exits));
	return code->exits ? 0 : -ENOMEM;
}

int sass_code_read(const struct sass_cubin *cubin, const struct sass_kernel *kernel, struct sass_code *code,
		   struct gpubpf_diag *diag)
{
	int err;

	*code = (struct sass_code){ 0 };
	err = open_code(cubin, kernel, code, diag);
	for (uint32_t i = 0; !err && i < code->n; i++)
		err = take_insn(cubin, code, i, diag);
	if (err < 0)
		sass_code_finish(code);
	return err;
}

void sass_code_finish(struct sass_code *code)
{
	free(code->exits);
	*code = (struct sass_code){ 0 };
}
