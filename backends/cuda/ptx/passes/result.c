/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: copies a function's return value into CUDA_RESULT, for probes at the function's returns.
 * Before: the function stores the value by st.param.
 * After: each such store is followed by code that copies the value's first 8 bytes into CUDA_RESULT.
 * Requires: a function that follows the PTX ABI. A function that returns in registers is refused.
 */
#include <stdio.h>
#include <stdlib.h>

#include "edit.h"

/* Returns the size in bytes of one stored element, or 0 if the type is unknown. */
static uint32_t count_stored_bytes(const struct ptx_splice *in, const struct ptx_node *insn)
{
	static const struct {
		const char *type;
		uint32_t bytes;
	} types[] = {
		{ ".b8", 1 },  { ".u8", 1 },  { ".s8", 1 },  { ".b16", 2 }, { ".u16", 2 }, { ".s16", 2 }, { ".b32", 4 },
		{ ".u32", 4 }, { ".s32", 4 }, { ".f32", 4 }, { ".b64", 8 }, { ".u64", 8 }, { ".s64", 8 }, { ".f64", 8 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (ptx_has_modifier(in, insn, types[i].type))
			return types[i].bytes;
	return 0;
}

/*
 * Emits code that inserts the bytes of one element into CUDA_RESULT. The instruction cvt accepts registers that are
 * wider than its integer type (PTX ISA 9.4.1), and mov also accepts floats.
 */
static void emit_element_copy(struct ptx_splice *in, struct ptx_text *text, const char *guard, uint32_t t, uint32_t off,
			      uint32_t bytes)
{
	const struct ptx_token *token = &in->m->tokens[t];
	const char *value = ptx_token_text(in->m, ptx_word_is(in, t - 1, "-") ? t - 1 : t);
	int len = ptx_token_text(in->m, t) + token->len - value;
	uint32_t bits = 8 * (off + bytes > 8 ? 8 - off : bytes);

	ptx_addf(text, &in->err, "\n{\n.reg .b32 %%gpubpf_w;\n.reg .b64 %%gpubpf_d;\n");
	if (bytes == 4)
		ptx_addf(text, &in->err, "mov.b32 %%gpubpf_w, %.*s;\ncvt.u64.u32 %%gpubpf_d, %%gpubpf_w;\n", len, value);
	else if (bytes == 8 || token->kind == PTX_NUMBER)
		ptx_addf(text, &in->err, "mov.b64 %%gpubpf_d, %.*s;\n", len, value);
	else
		ptx_addf(text, &in->err, "cvt.u64.u%u %%gpubpf_d, %.*s;\n", 8 * bytes, len, value);
	ptx_addf(text, &in->err, "%sbfi.b64 %s, %%gpubpf_d, %s, %u, %u;\n}", guard, CUDA_RESULT, CUDA_RESULT, 8 * off,
		 bits);
}

/*
 * Copies the first 8 bytes of the return value into a register at each st.param (PTX ISA 9.7.9.12), because no
 * instruction can read the value back. Syntax of the store: [result+off], value or {value, ...}.
 */
void ptx_copy_result(struct ptx_splice *in, uint32_t function, uint32_t node)
{
	const struct ptx_module *m = in->m;
	const struct ptx_node *insn = &m->nodes[node];
	uint32_t at = insn->operands + 1, declared, off = 0, bytes = count_stored_bytes(in, insn);
	struct ptx_text text = { 0 };
	char guard[80] = "";

	if (!ptx_word_is(in, insn->name, "st") || !ptx_has_modifier(in, insn, ".param") ||
	    !ptx_word_is(in, insn->operands, "["))
		return;
	declared = ptx_declaration(m, node, at);
	if (declared == PTX_NONE || m->nodes[declared].kind != PTX_PARAM || !m->nodes[declared].result)
		return;
	if (ptx_word_is(in, ++at, "+")) {
		off = strtoul(ptx_token_text(m, at + 1), NULL, 0);
		at += 2;
	}
	if (!bytes || !ptx_word_is(in, at, "]") || !ptx_word_is(in, at + 1, ",")) {
		ptx_refuse(in, "the probe reads a function's result, which PTX line %u stores in an unknown way",
			   m->tokens[insn->name].line);
		return;
	}
	if (insn->guard != PTX_NONE)
		snprintf(guard, sizeof(guard), "@%s%.*s ", ptx_word_is(in, insn->guard - 1, "!") ? "!" : "",
			 (int)m->tokens[insn->guard].len, ptx_token_text(m, insn->guard));
	for (at += 2; at < insn->end && off < 8; at++)
		if (m->tokens[at].kind != PTX_PUNCT) {
			emit_element_copy(in, &text, guard, at, off, bytes);
			off += bytes;
		}
	ptx_edit(in, PTX_INSERT, insn->end, 0, text);
}

/* Refuses functions that return in registers. Such functions do not follow the PTX ABI and have no st.param. */
void ptx_check_result(struct ptx_splice *in, uint32_t function)
{
	if (!in->copies_result)
		return;
	for (uint32_t c = in->m->nodes[function].child; c != PTX_NONE; c = in->m->nodes[c].next) {
		const struct ptx_node *n = &in->m->nodes[c];

		if (n->kind == PTX_PARAM && n->result && ptx_word_is(in, n->first, ".reg"))
			ptx_refuse(in, "the probe reads a function's result, but its PTX returns the result in registers");
	}
}
