/* SPDX-License-Identifier: Apache-2.0 */
#include "control.h"

#include <string.h>

#include "access.h"
#include "backends/cuda/ptx/ir/scope.h"

#define NONE PTX_NONE

static const struct row {
	const char *opcode, *modifiers;
	/* In this table, result.operand is the index of an operand. In the result of ptx_control() it is a token. */
	struct ptx_control result;
} rows[] = {
#define PTX_WAIT(opcode, modifiers, kind, operand) \
	{ opcode, modifiers, { PTX_WAITS, GPUBPF_BARRIER_##kind, operand } },
#define PTX_NO_WAIT(opcode, modifiers) { opcode, modifiers, { PTX_FALLS_THROUGH, 0, NONE } },
#define PTX_BRANCH(opcode, modifiers) { opcode, modifiers, { PTX_BRANCHES, 0, NONE } },
#define PTX_JUMP(opcode, modifiers, operand) { opcode, modifiers, { PTX_JUMPS, 0, operand } },
#include "control.def"
};

#define NROWS (sizeof(rows) / sizeof(*rows))

/*
 * Returns the kind of an instruction whose table row states `kind`. All lanes take a branch without a predicate, so
 * they do not diverge and the kind is PTX_FALLS_THROUGH. A table jump with a predicate may also fall through. PTX_JUMPS
 * does not describe this, so the kind is PTX_UNKNOWN.
 */
static enum ptx_control_kind apply_guard(enum ptx_control_kind kind, bool guarded)
{
	if (kind == PTX_BRANCHES)
		return guarded ? kind : PTX_FALLS_THROUGH;
	return kind == PTX_JUMPS && guarded ? PTX_UNKNOWN : kind;
}

struct ptx_control ptx_control(const struct ptx_module *m, uint32_t node)
{
	struct ptx_control c = { ptx_is_known(m, node) ? PTX_FALLS_THROUGH : PTX_UNKNOWN, 0, PTX_NONE };

	for (size_t i = 0; i < NROWS; i++) {
		if (!ptx_token_is(m, m->nodes[node].name, rows[i].opcode))
			continue;
		c.kind = PTX_UNKNOWN;
		if (!ptx_has_modifiers(m, node, rows[i].modifiers))
			continue;
		c = rows[i].result;
		c.kind = apply_guard(c.kind, m->nodes[node].guard != PTX_NONE);
		c.operand = c.operand == NONE ? PTX_NONE : ptx_operand(m, node, c.operand);
		/* no assembler accepts a table jump without an index */
		if (c.kind == PTX_JUMPS && c.operand == PTX_NONE)
			c.kind = PTX_UNKNOWN;
		break;
	}
	return c;
}

bool ptx_control_is(const struct ptx_control *control, enum gpubpf_site kind)
{
	uint32_t place_operands = gpubpf_place_kind(kind)->operands;

	switch (control->kind) {
	case PTX_FALLS_THROUGH:
		return false;
	case PTX_WAITS:
		return place_operands & GPUBPF_GIVES_BARRIER;
	case PTX_BRANCHES:
	case PTX_JUMPS:
		return place_operands & GPUBPF_GIVES_BRANCH;
	case PTX_UNKNOWN:
		return place_operands & (GPUBPF_GIVES_BARRIER | GPUBPF_GIVES_BRANCH);
	}
	return false;
}

enum step { STEP_NONE, STEP_ARGUMENT, STEP_CALL, STEP_RESULT };

/*
 * Returns the node's part in a call sequence. Arguments and results of a call are .param variables that the body
 * declares. Accesses to the function's own parameters, which are .param too, do not count (PTX ISA 7.1).
 */
static enum step call_step(const struct ptx_module *m, uint32_t node)
{
	bool store = ptx_token_is(m, m->nodes[node].name, "st");
	uint32_t address, declared;

	if (ptx_token_is(m, m->nodes[node].name, "call"))
		return STEP_CALL;
	if (m->nodes[node].kind != PTX_INSN || !ptx_has_modifiers(m, node, ".param") ||
	    (!store && !ptx_token_is(m, m->nodes[node].name, "ld")))
		return STEP_NONE;
	address = ptx_operand(m, node, store ? 0 : 1);
	declared = address == PTX_NONE ? PTX_NONE : ptx_declaration(m, node, address + 1);
	if (declared == PTX_NONE || m->nodes[declared].kind != PTX_VARIABLE)
		return STEP_NONE;
	return store ? STEP_ARGUMENT : STEP_RESULT;
}

uint32_t ptx_call_begin(const struct ptx_module *m, uint32_t node)
{
	enum step step = m->nodes[node].kind == PTX_INSN ? call_step(m, node) : STEP_NONE, last = STEP_NONE;
	uint32_t begin = node;

	if (step == STEP_NONE)
		return node;
	for (uint32_t c = m->nodes[m->nodes[node].parent].child; c != PTX_NONE; c = m->nodes[c].next) {
		if (m->nodes[c].kind == PTX_VARIABLE || m->nodes[c].kind == PTX_DIRECTIVE)
			continue;
		step = m->nodes[c].kind == PTX_INSN ? call_step(m, c) : STEP_NONE;
		if (step < last || last == STEP_NONE || (step == last && step == STEP_CALL))
			begin = c;
		last = step;
		if (c == node)
			break;
	}
	return begin;
}
