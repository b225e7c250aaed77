/* SPDX-License-Identifier: Apache-2.0 */
#include "print.h"

#include "effects.h"
#include "form.h"

#define FORM_BIT 9             /* the bits of an opcode above its operation say what the operands B and C are */
#define ALU_OPERATIONS 0x100   /* operations below this number have the forms that the next lines name */
#define IMMEDIATE_C 2
#define IMMEDIATE_B 4

static void print_guard(FILE *to, struct sass_insn insn)
{
	if (insn.guard == SASS_NEVER)
		fputs("@!PT ", to);
	else if (insn.guard != SASS_PT)
		fprintf(to, "@%s%sP%u ", insn.guard & SASS_NEGATED ? "!" : "",
			sass_has(insn, SASS_UNIFORM_GUARD) ? "U" : "", insn.guard & SASS_PT);
}

static void print_operand(FILE *to, const struct sass_operand *x)
{
	const char *letter = x->uniform ? "UR" : "R";

	if (!x->n)
		fprintf(to, "%sZ", letter);
	else if (x->n == 1)
		fprintf(to, "%s%u", letter, x->reg);
	else
		fprintf(to, "%s%u..%s%u", letter, x->reg, letter, x->reg + x->n - 1);
}

/* Prints the immediate or the constant among the operands. */
static void print_literal(FILE *to, struct sass_insn insn)
{
	unsigned form = insn.opcode >> FORM_BIT;
	int bank = sass_constant_bank(insn);

	if (bank >= 0)
		fprintf(to, ", c[%d][0x%x]", bank, (unsigned)sass_constant_offset(insn));
	else if (insn.opcode % SASS_OPERATIONS < ALU_OPERATIONS && (form == IMMEDIATE_B || form == IMMEDIATE_C))
		fprintf(to, ", 0x%x", sass_immediate(insn));
}

static void print_operands(FILE *to, struct sass_insn insn)
{
	const struct sass_form *form = sass_form(insn);
	int barrier = sass_convergence_barrier(insn);
	const char *before = " ";

	if (barrier >= 0)
		fprintf(to, " B%d", barrier);

	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		if (form->operands[o] == '-')
			continue;
		fputs(before, to);
		print_operand(to, &insn.operand[o]);
		before = ", ";
	}
	print_literal(to, insn);
	if (sass_is(insn, SASS_OPERATION_S2R) || sass_is(insn, SASS_OPERATION_S2UR) || sass_is(insn, SASS_OPERATION_CS2R))
		fprintf(to, ", SR 0x%02x", sass_special_register(insn));
}

static void print_predicates(FILE *to, const char *how, unsigned set)
{
	if (set)
		fprintf(to, ", %s", how);
	for (unsigned p = 0; p < 2 * SASS_WARPS; p++)
		if (set >> p & 1)
			fprintf(to, " %sP%u", p < SASS_WARPS ? "" : "U", p % SASS_WARPS);
}

static void print_control(FILE *to, struct sass_insn insn)
{
	fprintf(to, "stall %u", insn.stall);
	if (insn.yield)
		fputs(", yield", to);
	if (insn.waits)
		fprintf(to, ", wait 0x%x", insn.waits);
	if (insn.write_board != SASS_NO_SCOREBOARD)
		fprintf(to, ", write %u", insn.write_board);
	if (insn.read_board != SASS_NO_SCOREBOARD)
		fprintf(to, ", read %u", insn.read_board);
	if (insn.reuse)
		fprintf(to, ", reuse 0x%x", insn.reuse);
}

void sass_print_insn(FILE *to, struct sass_insn insn, int64_t target)
{
	struct sass_word word = sass_encode(insn);
	const char *name = sass_op(insn)->name;

	print_guard(to, insn);
	if (name)
		fputs(name, to);
	else
		fprintf(to, "0x%03x", insn.opcode);
	if (sass_form(insn))
		print_operands(to, insn);
	if (target >= 0)
		fprintf(to, " -> %lld", (long long)target);
	fputs("  // ", to);
	print_control(to, insn);
	if (sass_form(insn)) {
		print_predicates(to, "writes", sass_predicates_written(insn));
		print_predicates(to, "reads", sass_predicates_read(insn));
	}
	fprintf(to, ", 0x%016llx 0x%016llx\n", (unsigned long long)word.lo, (unsigned long long)word.hi);
}
