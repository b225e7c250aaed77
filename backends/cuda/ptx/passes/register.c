/* SPDX-License-Identifier: Apache-2.0 */
#include "register.h"

#include <errno.h>
#include <string.h>

/* Returns the width in bits of the type at a token (PTX ISA 5.2), PTX_PREDICATE for .pred, or 0 for other tokens. */
static uint32_t get_type_bits(const struct ptx_module *m, uint32_t token)
{
	static const struct {
		const char *type;
		uint32_t bits;
	} types[] = {
		{ ".pred", PTX_PREDICATE },
		{ ".b16", 16 },
		{ ".u16", 16 },
		{ ".s16", 16 },
		{ ".f16", 16 },
		{ ".bf16", 16 },
		{ ".b32", 32 },
		{ ".u32", 32 },
		{ ".s32", 32 },
		{ ".f32", 32 },
		{ ".f16x2", 32 },
		{ ".bf16x2", 32 },
		{ ".b64", 64 },
		{ ".u64", 64 },
		{ ".s64", 64 },
		{ ".f64", 64 },
		{ ".b128", 128 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (ptx_token_is(m, token, types[i].type))
			return types[i].bits;
	return 0;
}

/*
 * A vector's own name has width 0. For example, ".reg .v4 .f32 v;" declares four registers, and an operand names one of
 * them with a suffix.
 */
uint32_t ptx_register_bits(const struct ptx_module *m, uint32_t node, uint32_t token)
{
	uint32_t declared = m->tokens[token].kind == PTX_WORD ? ptx_declaration(m, node, token) : PTX_NONE, bits = 0;
	const struct ptx_node *n = &m->nodes[declared == PTX_NONE ? 0 : declared];

	if (declared == PTX_NONE || n->kind == PTX_LABEL || !ptx_token_is(m, n->first, ".reg"))
		return 0;
	for (uint32_t t = n->first + 1; !bits && t < n->name; t++)
		bits = ptx_token_is(m, t, ".v2") || ptx_token_is(m, t, ".v4") ? 0 : get_type_bits(m, t);
	return bits;
}

int ptx_emit_variable(struct ptx_splice *in, struct ptx_text *text, uint32_t node, uint32_t token, const char *to)
{
	const struct ptx_symbol *symbol = ptx_symbols_find_at(&in->symbols, node, token);
	uint32_t declared = ptx_declaration(in->m, node, token);

	if (symbol && symbol->binding != PTX_NONE) {
		ptx_addf(text, &in->err, "mov.b64 %s, %%gpubpf_v%u;\n", to, symbol->binding);
		return 0;
	}
	if (!(symbol && symbol->shared) && (declared == PTX_NONE || in->m->nodes[declared].kind != PTX_VARIABLE ||
					    ptx_token_is(in->m, in->m->nodes[declared].first, ".reg")))
		return -EINVAL;
	ptx_addf(text, &in->err, "mov.u64 %s, %.*s;\n", to, (int)in->m->tokens[token].len, ptx_token_text(in->m, token));
	return 0;
}

/*
 * Emits code that puts an immediate into `to`. It is an integer of any base, or a floating-point number of the
 * instruction's type (PTX ISA 4.5).
 */
static void emit_immediate(struct ptx_splice *in, struct ptx_text *text, uint32_t node, uint32_t token, uint32_t bytes,
			   const char *to)
{
	const struct ptx_node *insn = &in->m->nodes[node];
	bool minus = ptx_word_is(in, token, "-");
	int len = in->m->tokens[token + minus].len;
	const char *number = ptx_token_text(in->m, token + minus), *sign = minus ? "-" : "";

	if (bytes == 4 && ptx_has_modifier(in, insn, ".f32")) {
		ptx_addf(text, &in->err, "{\n.reg .f32 %%gpubpf_w;\n.reg .b32 %%gpubpf_b;\n");
		ptx_addf(text, &in->err, "mov.f32 %%gpubpf_w, %s%.*s;\nmov.b32 %%gpubpf_b, %%gpubpf_w;\n", sign, len,
			 number);
		ptx_addf(text, &in->err, "cvt.u64.u32 %s, %%gpubpf_b;\n}\n", to);
	} else if (bytes == 8 && ptx_has_modifier(in, insn, ".f64")) {
		ptx_addf(text, &in->err, "{\n.reg .f64 %%gpubpf_w;\nmov.f64 %%gpubpf_w, %s%.*s;\n", sign, len, number);
		ptx_addf(text, &in->err, "mov.b64 %s, %%gpubpf_w;\n}\n", to);
	} else {
		ptx_addf(text, &in->err, "mov.b64 %s, %s%.*s;\n", to, sign, len, number);
	}
}

int ptx_emit_element(struct ptx_splice *in, struct ptx_text *text, uint32_t node, uint32_t token, uint32_t bytes,
		     const char *to)
{
	uint32_t bits = ptx_register_bits(in->m, node, token);
	const char *name = ptx_token_text(in->m, token);
	int len = in->m->tokens[token].len, err = 0;

	if (in->m->tokens[token + ptx_word_is(in, token, "-")].kind == PTX_NUMBER)
		emit_immediate(in, text, node, token, bytes, to);
	else if (bits == 64)
		ptx_addf(text, &in->err, "mov.b64 %s, %.*s;\n", to, len, name);
	else if (bits == 32 || bits == 16)
		ptx_addf(text, &in->err,
			 "{\n.reg .b%u %%gpubpf_w;\nmov.b%u %%gpubpf_w, %.*s;\ncvt.u64.u%u %s, %%gpubpf_w;\n}\n", bits,
			 bits, len, name, bits, to);
	else
		err = ptx_emit_variable(in, text, node, token, to);
	if (!err && bytes < 8)
		ptx_addf(text, &in->err, "and.b64 %s, %s, %llu;\n", to, to, (1ull << 8 * bytes) - 1);
	return err;
}
