/* SPDX-License-Identifier: Apache-2.0 */
/* Emits code that reads the operands of kind "register" and "mark". */
#include <stdio.h>

#include "operands.h"
#include "register.h"

/*
 * Returns the token of the i-th register among the instruction's operands, or PTX_NONE if it has at most i registers.
 * Sets *bits to the register's width.
 */
static uint32_t register_at(const struct ptx_module *m, uint32_t node, uint32_t i, uint32_t *bits)
{
	for (uint32_t t = m->nodes[node].operands; t < m->nodes[node].end; t++) {
		*bits = ptx_register_bits(m, node, t);
		if (*bits && !i--)
			return t;
	}
	return PTX_NONE;
}

/*
 * Emits code that reads register i before the instruction, so a destination register has its old value. Only the lower
 * half of a 128-bit register is read.
 */
void ptx_emit_register(struct insn_place *a, uint32_t word, uint32_t i)
{
	const struct ptx_module *m = a->in->m;
	uint32_t bits, t = register_at(m, a->at->place.node, i, &bits);
	int len = t == PTX_NONE ? 0 : m->tokens[t].len;
	char to[40];

	snprintf(to, sizeof(to), PTX_OPERAND "%u", word);
	if (t == PTX_NONE)
		ptx_emit_constant(a, word, 0);
	else if (bits == PTX_PREDICATE)
		put(a, "selp.b64 %s, 1, 0, %.*s;\n", to, len, ptx_token_text(m, t));
	else if (bits == 128)
		put(a, "{\n.reg .b64 %%gpubpf_e;\nmov.b128 {%s, %%gpubpf_e}, %.*s;\n}\n", to, len, ptx_token_text(m, t));
	else
		ptx_emit_element(a->in, &a->text, a->at->place.node, t, 8, to);
}

void ptx_emit_mark(struct insn_place *a, uint32_t word, uint32_t i)
{
	uint32_t node = a->at->place.node;
	char to[40];

	snprintf(to, sizeof(to), PTX_OPERAND "%u", word);
	if (ptx_emit_element(a->in, &a->text, node, a->in->m->nodes[node].operands, 8, to) < 0)
		ptx_refuse(a->in, "PTX line %u: the value of this mark is neither a register nor a constant",
			   ptx_line_of(a));
}
