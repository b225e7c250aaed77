/* SPDX-License-Identifier: Apache-2.0 */
/* Emits code that reads the operands of places at barriers and branches. */
#include <stdio.h>

#include "operands.h"
#include "register.h"

void ptx_emit_barrier_kind(struct insn_place *a, uint32_t word, uint32_t i)
{
	ptx_emit_constant(a, word, a->control.barrier);
}

void ptx_emit_barrier(struct insn_place *a, uint32_t word, uint32_t i)
{
	char to[40];

	snprintf(to, sizeof(to), PTX_OPERAND "%u", word);
	if (a->control.operand == PTX_NONE)
		ptx_emit_constant(a, word, 0);
	else if (a->control.barrier == GPUBPF_BARRIER_OBJECT)
		ptx_emit_address(a, word, i);
	else if (ptx_emit_element(a->in, &a->text, a->at->place.node, a->control.operand, 4, to) < 0)
		ptx_refuse(a->in, "PTX line %u has a barrier operand of unknown form", ptx_line_of(a));
}

static void need_active(struct insn_place *a)
{
	if (!a->has_active)
		put(a, ".reg .b32 " PTX_ACTIVE ";\nactivemask.b32 " PTX_ACTIVE ";\n");
	a->has_active = true;
}

void ptx_emit_active(struct insn_place *a, uint32_t word, uint32_t i)
{
	need_active(a);
	put(a, "cvt.u64.u32 " PTX_OPERAND "%u, " PTX_ACTIVE ";\n", word);
}

/* Returns the branch's predicate register. Sets *negated if lanes branch when the predicate is false ("!"). */
static const char *branch_predicate(const struct insn_place *a, bool *negated, int *len)
{
	const struct ptx_module *m = a->in->m;
	uint32_t guard = m->nodes[a->at->place.node].guard;

	*negated = ptx_token_is(m, guard - 1, "!");
	*len = m->tokens[guard].len;
	return ptx_token_text(m, guard);
}

void ptx_emit_taken(struct insn_place *a, uint32_t word, uint32_t i)
{
	const char *name;
	bool negated;
	int len;

	if (a->control.kind != PTX_BRANCHES) {
		ptx_emit_constant(a, word, 1);
		return;
	}
	name = branch_predicate(a, &negated, &len);
	put(a, "selp.b64 " PTX_OPERAND "%u, %d, %d, %.*s;\n", word, !negated, negated, len, name);
}

/*
 * Emits code that computes the mask of the lanes that branch in this lane's direction. It executes activemask under the
 * branch's predicate, which returns the lanes whose predicate is true (PTX ISA, activemask). A vote instruction would
 * require converged lanes, and thus a test for convergence.
 */
static void emit_side_mask(struct insn_place *a, const char *to)
{
	const struct ptx_module *m = a->in->m;
	uint32_t index = a->control.operand;
	const char *name;
	bool negated;
	int len;

	if (a->control.kind != PTX_BRANCHES) { /* all lanes of the mask execute this match, so no lane waits forever */
		put(a, "match.any.sync.b32 %s, %.*s, " PTX_ACTIVE ";\n", to, (int)m->tokens[index].len,
		    ptx_token_text(m, index));
		return;
	}
	name = branch_predicate(a, &negated, &len);
	put(a, "@%.*s activemask.b32 %s;\n@!%.*s activemask.b32 %s;\n", len, name, to, len, name, to);
}

void ptx_emit_taken_mask(struct insn_place *a)
{
	need_active(a);
	put(a, ".reg .b32 %" CUDA_TAKEN ";\n");
	emit_side_mask(a, CUDA_TAKEN);
}

void ptx_emit_lanes(struct insn_place *a, uint32_t word, uint32_t i)
{
	const char *name;
	bool negated;
	int len;

	need_active(a);
	put(a, "{\n.reg .b32 %%gpubpf_w;\n");
	emit_side_mask(a, "%gpubpf_w");
	if (a->control.kind == PTX_BRANCHES) {
		name = branch_predicate(a, &negated, &len);
		put(a, "@%s%.*s xor.b32 %%gpubpf_w, %%gpubpf_w, " PTX_ACTIVE ";\n", negated ? "" : "!", len, name);
	}
	put(a, "cvt.u64.u32 " PTX_OPERAND "%u, %%gpubpf_w;\n}\n", word);
}
