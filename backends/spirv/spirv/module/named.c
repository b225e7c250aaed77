/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines the names of places. The name of an instruction is its name in the specification. For an instruction of
 * the extended set OpenCL.std, the name is "OpExtInst." and its name in that set.
 *
 * A mark is a call of the function gpubpf_mark() of include/gpubpf/mark.h with a constant string as its first argument.
 * Compilers that produce IL do not move the call; the device's compiler removes it because it has no effect. If all
 * marks of a module have the same name or value, the compiler may move that constant into the function. The function
 * stores its name and value in two variables, so mark_argument() finds the constants there.
 */
#include "named.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"

#define MARK "gpubpf_mark"
/* parameters of gpubpf_mark(), and the number of its OpStore instructions */
enum { MARK_NAME, MARK_VALUE, MARK_STORES };
#define MAX_STEPS 16 /* maximum number of instructions that derive one pointer from another */

/* -- opcodes -- */

static int compare(const void *key, const void *row)
{
	uint32_t number = *(const uint32_t *)key, other = ((const struct gpubpf_spv_opcode *)row)->number;

	return number < other ? -1 : number > other;
}

static const struct gpubpf_spv_opcode *find_opcode(const struct gpubpf_spv_opcode *rows, uint32_t n, uint32_t number)
{
	return bsearch(&number, rows, n, sizeof(*rows), compare);
}

/* Returns the name of the extended set to which an OpExtInst belongs, or "" for other instructions. */
static const char *extended_set_of(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn)
{
	const struct gpubpf_spv_insn *set = insn->op == SpvOpExtInst ? gpubpf_spv_def(m, gpubpf_spv_word(m, insn, 3)) :
								       NULL;
	uint32_t end;

	return set && set->op == SpvOpExtInstImport ? gpubpf_spv_string(m, set, 2, &end) : "";
}

static void get_opcode_name(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn, char *name, size_t size)
{
	const struct gpubpf_spv_opcode *op = find_opcode(gpubpf_spv_opcodes, gpubpf_spv_nopcodes, insn->op);
	const struct gpubpf_spv_opcode *extended = NULL;

	if (!strcmp(extended_set_of(m, insn), "OpenCL.std"))
		extended = find_opcode(gpubpf_spv_extended, gpubpf_spv_nextended, gpubpf_spv_word(m, insn, 4));
	if (op)
		snprintf(name, size, "%s%s%s", op->name, extended ? "." : "", extended ? extended->name : "");
	else
		snprintf(name, size, "Op%u", insn->op);
}

/*
 * Returns false for instructions before which no call may be inserted (sections 2.4 and 2.16.1), and for instructions
 * that only inform compilers and debuggers.
 */
bool gpubpf_spv_is_executed(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn)
{
	switch (insn->op) {
	case SpvOpFunction:
	case SpvOpFunctionParameter:
	case SpvOpLabel:
	case SpvOpVariable:
	case SpvOpPhi:
	case SpvOpFunctionEnd:
	case SpvOpLine:
	case SpvOpNoLine:
	case SpvOpUndef:
	case SpvOpLoopMerge:
	case SpvOpSelectionMerge:
	case SpvOpLoopControlINTEL:
		return false;
	case SpvOpExtInst:
		return strncmp(extended_set_of(m, insn), "NonSemantic.", 12) &&
		       !strstr(extended_set_of(m, insn), "DebugInfo");
	default:
		return true;
	}
}

/* -- operands -- */

static bool is_value(const struct gpubpf_spv *m, uint32_t id)
{
	const struct gpubpf_spv_insn *def = gpubpf_spv_def(m, id), *type = gpubpf_spv_def(m, gpubpf_spv_type_of(m, id));

	return def && def->op != SpvOpFunction && type && type->op != SpvOpTypeVoid;
}

uint32_t gpubpf_spv_operands(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn,
			     uint32_t ids[GPUBPF_SPV_OPERANDS])
{
	const struct gpubpf_spv_opcode *op = find_opcode(gpubpf_spv_opcodes, gpubpf_spv_nopcodes, insn->op);
	const char *letter = op ? op->words : "";
	uint32_t n = 0;

	for (uint32_t w = 1; *letter && w < insn->n && n < GPUBPF_SPV_OPERANDS; w++) {
		uint32_t id = gpubpf_spv_word(m, insn, w);

		if (*letter != '-' && is_value(m, id))
			ids[n++] = id;
		letter += *letter != 'I';
	}
	return n;
}

/* -- marks -- */

/* In C, the function is named gpubpf_mark. In C++, its name is mangled with its parameter types. */
bool gpubpf_spv_is_mark_function(const struct gpubpf_spv *m, uint32_t function)
{
	static const char *const begins[] = { "_Z11" MARK, "_ZL11" MARK };
	uint32_t end, at = function < m->bound ? m->name[function] : 0;
	const char *name = at ? gpubpf_spv_string(m, &m->insn[at - 1], 2, &end) : "";
	bool is = !strcmp(name, MARK);

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		is |= !strncmp(name, begins[i], strlen(begins[i]));
	return is;
}

/* Returns the index of the function's parameter with this id, or UINT32_MAX if the id is not a parameter. */
static uint32_t find_parameter(const struct gpubpf_spv *m, uint32_t function, uint32_t id)
{
	const struct gpubpf_spv_insn *def = gpubpf_spv_def(m, id);
	uint32_t first = m->def[function], at = def ? m->def[id] - 1 : 0;

	return def && def->op == SpvOpFunctionParameter && at >= first ? at - first : UINT32_MAX;
}

/*
 * Returns the id of a mark's name or value: an operand of the call, or a constant that the function stores. Returns 0
 * if it is unknown.
 */
static uint32_t mark_argument(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *call, uint32_t which)
{
	uint32_t function = gpubpf_spv_word(m, call, 3), n = 0, stored[MARK_STORES], parameter;

	for (uint32_t i = m->def[function]; i < m->ninsns && m->insn[i].op != SpvOpFunctionEnd && n < MARK_STORES; i++)
		if (m->insn[i].op == SpvOpStore)
			stored[n++] = gpubpf_spv_word(m, &m->insn[i], 2);
	if (n < MARK_STORES)
		return gpubpf_spv_word(m, call, 4 + which);
	parameter = find_parameter(m, function, stored[which]);
	if (parameter != UINT32_MAX)
		return gpubpf_spv_word(m, call, 4 + parameter);
	return stored[which] < m->bound && m->def[stored[which]] && m->def[stored[which]] <= m->functions ?
		       stored[which] :
		       0;
}

bool gpubpf_spv_is_mark(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn)
{
	return insn->op == SpvOpFunctionCall && gpubpf_spv_is_mark_function(m, gpubpf_spv_word(m, insn, 3)) &&
	       is_value(m, mark_argument(m, insn, MARK_VALUE));
}

uint32_t gpubpf_spv_mark_value(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn)
{
	return mark_argument(m, insn, MARK_VALUE);
}

/* Returns the initializer of the variable at whose start the pointer points, or NULL if unknown. */
static const struct gpubpf_spv_insn *find_initializer(const struct gpubpf_spv *m, uint32_t pointer)
{
	const struct gpubpf_spv_insn *def = gpubpf_spv_def(m, pointer);

	for (unsigned i = 0; i < MAX_STEPS && def && def->op != SpvOpVariable; i++) {
		uint32_t from = def->op == SpvOpSpecConstantOp ? 4 : 3;

		def = gpubpf_spv_def(m, gpubpf_spv_word(m, def, from));
	}
	return def && def->op == SpvOpVariable ? gpubpf_spv_def(m, gpubpf_spv_word(m, def, 4)) : NULL;
}

static void mark_name(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn, char *name, size_t size)
{
	const struct gpubpf_spv_insn *text = find_initializer(m, mark_argument(m, insn, MARK_NAME)), *letter;
	size_t n = 0;

	for (uint32_t w = 3; text && text->op == SpvOpConstantComposite && w < text->n && n + 1 < size; w++) {
		letter = gpubpf_spv_def(m, gpubpf_spv_word(m, text, w));
		name[n] = letter && letter->op == SpvOpConstant ? gpubpf_spv_word(m, letter, 3) : 0;
		if (!name[n])
			break;
		n++;
	}
	name[n] = 0;
}

void gpubpf_spv_place_name(const struct gpubpf_spv *m, const struct gpubpf_spv_place *place, char *name, size_t size)
{
	const struct gpubpf_spv_insn *insn = &m->insn[place->insn];

	if (place->kind == GPUBPF_SITE_LINE)
		gpubpf_spv_line_name(m, place->insn, name, size);
	else if (place->kind == GPUBPF_SITE_MARK)
		mark_name(m, insn, name, size);
	else
		get_opcode_name(m, insn, name, size);
}
