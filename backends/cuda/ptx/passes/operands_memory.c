/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits code that reads the operands of places at memory accesses. Each function ptx_emit_*() sets one field of the
 * context.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operands.h"
#include "register.h"

/*
 * Reads the offset in an address [base], [base+n], [base-n] or [base+-n]. Stores the offset's text in `sum`, "" if
 * there is none. Returns false for any other syntax.
 */
static bool parse_offset(struct insn_place *a, uint32_t t, char *sum, size_t size)
{
	const struct ptx_module *m = a->in->m;
	bool plus = ptx_token_is(m, t, "+"), minus;

	sum[0] = 0;
	if (ptx_token_is(m, t, "]"))
		return true;
	t += plus;
	minus = ptx_token_is(m, t, "-");
	t += minus;
	if ((!plus && !minus) || m->tokens[t].kind != PTX_NUMBER || !ptx_token_is(m, t + 1, "]"))
		return false;
	snprintf(sum, size, "%s%.*s", minus ? "-" : "", (int)m->tokens[t].len, ptx_token_text(m, t));
	return true;
}

static void emit_offset(struct insn_place *a, const char *sum)
{
	if (sum[0])
		put(a, "add.s64 " PTX_AT ", " PTX_AT ", %s;\n", sum);
}

/* Emits code that sets PTX_AT to the address "[base+n]". A sum of 32 bits wraps. */
static void emit_address(struct insn_place *a)
{
	const struct ptx_module *m = a->in->m;
	uint32_t base = a->access.address + 1, bits;
	int len = m->tokens[base].len;
	const char *name = ptx_token_text(m, base);
	char sum[40];

	if (!parse_offset(a, base + 1, sum, sizeof(sum))) {
		ptx_refuse(a->in, "PTX line %u has an address of unknown form", ptx_line_of(a));
		return;
	}
	put(a, ".reg .b64 " PTX_AT ";\n");
	bits = ptx_register_bits(m, a->at->place.node, base);
	if (m->tokens[base].kind == PTX_NUMBER || bits == 64) {
		put(a, "mov.b64 " PTX_AT ", %.*s;\n", len, name);
	} else if (bits == 32) {
		put(a, "{\n.reg .b32 %%gpubpf_w;\nadd.s32 %%gpubpf_w, %.*s, %s;\n", len, name, sum[0] ? sum : "0");
		put(a, "cvt.u64.u32 " PTX_AT ", %%gpubpf_w;\n}\n");
		return;
	} else if (ptx_emit_variable(a->in, &a->text, a->at->place.node, base, "%gpubpf_at") < 0) {
		ptx_refuse(a->in, "PTX line %u has an address of unknown form", ptx_line_of(a));
	}
	emit_offset(a, sum);
}

void ptx_need_address(struct insn_place *a)
{
	if (!a->has_address)
		emit_address(a);
	a->has_address = true;
}

bool ptx_is_generic(const struct insn_place *a)
{
	return a->access.space == PTX_NONE;
}

/* From sm_90 on, a generic address may be in the shared memory of another block of the cluster. */
const char *ptx_isspacep_name(const struct insn_place *a, uint32_t space)
{
	uint32_t target = cuda_ptx_target(a->in->m);
	const char *sm = target == PTX_NONE ? "" : ptx_token_text(a->in->m, target);

	switch (space) {
	case GPUBPF_IN(GLOBAL):
		return "global";
	case GPUBPF_IN(LOCAL):
		return "local";
	case GPUBPF_IN(CONSTANT):
		return "const";
	default:
		return !strncmp(sm, "sm_", 3) && atoi(sm + 3) >= 90 ? "shared::cluster" : "shared";
	}
}

/*
 * Refuses a generic address if the kernel uses constants. In the twin, constants have generic addresses in global
 * memory, so the twin cannot tell constant memory from global memory.
 */
void ptx_check_constants(struct insn_place *a)
{
	for (uint32_t i = 0; i < a->in->symbols.n; i++)
		if (a->in->symbols.symbols[i].constant && a->in->symbols.symbols[i].binding != PTX_NONE)
			ptx_refuse(a->in,
				   "PTX line %u has a generic address, possibly of a __constant__ variable; a twin has such variables in global memory",
				   ptx_line_of(a));
}

void ptx_emit_address(struct insn_place *a, uint32_t word, uint32_t i)
{
	const struct ptx_module *m = a->in->m;
	uint32_t space = a->access.space;

	ptx_need_address(a);
	if (a->access.spaces == GPUBPF_IN(SHARED) || a->access.spaces == GPUBPF_IN(LOCAL))
		put(a, "cvta%.*s.u64 " PTX_OPERAND "%u, " PTX_AT ";\n", (int)m->tokens[space].len,
		    ptx_token_text(m, space), word);
	else
		put(a, "mov.b64 " PTX_OPERAND "%u, " PTX_AT ";\n", word);
}

void ptx_emit_offset(struct insn_place *a, uint32_t word, uint32_t i)
{
	static const uint32_t own[] = { GPUBPF_IN(SHARED), GPUBPF_IN(LOCAL) };

	ptx_need_address(a);
	put(a, "mov.b64 " PTX_OPERAND "%u, " PTX_AT ";\n", word);
	for (size_t k = 0; ptx_is_generic(a) && k < sizeof(own) / sizeof(*own); k++) {
		const char *space = ptx_isspacep_name(a, own[k]);

		put(a, "{\n.reg .pred %%gpubpf_p;\nisspacep.%s %%gpubpf_p, " PTX_AT ";\n", space);
		put(a, "@%%gpubpf_p cvta.to.%s.u64 " PTX_OPERAND "%u, " PTX_AT ";\n}\n", space, word);
	}
}

void ptx_emit_space(struct insn_place *a, uint32_t word, uint32_t i)
{
	static const enum gpubpf_mem_space spaces[] = { GPUBPF_GLOBAL, GPUBPF_SHARED, GPUBPF_LOCAL, GPUBPF_CONSTANT };

	ptx_need_address(a);
	if (ptx_is_generic(a)) {
		ptx_check_constants(a);
		ptx_emit_constant(a, word, GPUBPF_GENERIC);
	}
	for (size_t k = 0; k < sizeof(spaces) / sizeof(*spaces); k++) {
		if (!(a->access.spaces >> spaces[k] & 1))
			continue;
		if (ptx_is_generic(a))
			put(a, "{\n.reg .pred %%gpubpf_p;\nisspacep.%s %%gpubpf_p, " PTX_AT ";\n@%%gpubpf_p ",
			    ptx_isspacep_name(a, 1u << spaces[k]));
		ptx_emit_constant(a, word, spaces[k]);
		if (ptx_is_generic(a))
			put(a, "}\n");
	}
}

void ptx_emit_access(struct insn_place *a, uint32_t word, uint32_t i)
{
	ptx_emit_constant(a, word, a->access.access);
}

void ptx_emit_count(struct insn_place *a, uint32_t word, uint32_t i)
{
	ptx_emit_constant(a, word, a->access.count);
}

/*
 * Translates cache operators, eviction priorities and other cache hints to bits GPUBPF_HINT_ (PTX ISA 9.7.9.1, 9.7.9.2,
 * 9.7.9.8).
 */
void ptx_emit_hint(struct insn_place *a, uint32_t word, uint32_t i)
{
	static const struct {
		const char *word;
		enum gpubpf_mem_hint hint;
	} hints[] = {
		{ ".ca", GPUBPF_HINT_ALL },
		{ ".wb", GPUBPF_HINT_ALL },
		{ ".cg", GPUBPF_HINT_GLOBAL },
		{ ".cs", GPUBPF_HINT_STREAM },
		{ ".lu", GPUBPF_HINT_LAST },
		{ ".cv", GPUBPF_HINT_THROUGH },
		{ ".wt", GPUBPF_HINT_THROUGH },
		{ "::evict_first", GPUBPF_HINT_STREAM },
		{ "::evict_last", GPUBPF_HINT_KEEP },
		{ "::evict_unchanged", GPUBPF_HINT_UNCHANGED },
		{ "::no_allocate", GPUBPF_HINT_NO_ALLOCATE },
		{ ".nc", GPUBPF_HINT_READ_ONLY },
		{ ".volatile", GPUBPF_HINT_VOLATILE },
		{ "::cache_hint", GPUBPF_HINT_POLICY },
	};
	const struct ptx_module *m = a->in->m;
	const struct ptx_node *insn = &m->nodes[a->at->place.node];
	uint32_t all = 0;

	for (uint32_t t = insn->name + 1; t < insn->operands; t++)
		for (size_t k = 0; k < sizeof(hints) / sizeof(*hints); k++) {
			size_t n = strlen(hints[k].word), len = m->tokens[t].len;
			bool whole = hints[k].word[0] == '.' ? len == n : len > n;

			if (whole && !memcmp(ptx_token_text(m, t) + len - n, hints[k].word, n))
				all |= hints[k].hint;
		}
	ptx_emit_constant(a, word, all);
}

static void emit_number(struct insn_place *a, uint32_t word, uint32_t t)
{
	char to[40];

	snprintf(to, sizeof(to), PTX_OPERAND "%u", word);
	if (ptx_emit_element(a->in, &a->text, a->at->place.node, t, 4, to) < 0)
		ptx_refuse(a->in, "PTX line %u has a byte count of unknown form", ptx_line_of(a));
}

/*
 * Emits the number of bytes that cp.async reads (PTX ISA 9.7.9.25.3.1). Syntax: [dst], [src], cp-size{, src-size |
 * ignore-src}{, cache-policy}. So operand 3 is a number, a predicate, or a 64-bit policy.
 */
static void emit_copied_bytes(struct insn_place *a, uint32_t word)
{
	uint32_t t = ptx_operand(a->in->m, a->at->place.node, 3);
	uint32_t bits = t == PTX_NONE ? 64 : ptx_register_bits(a->in->m, a->at->place.node, t);
	bool number = t != PTX_NONE && a->in->m->tokens[t].kind == PTX_NUMBER;

	emit_number(a, word, number || bits == 32 ? t : a->access.bytes_operand);
	if (bits == PTX_PREDICATE)
		put(a, "@%.*s mov.b64 " PTX_OPERAND "%u, 0;\n", (int)a->in->m->tokens[t].len,
		    ptx_token_text(a->in->m, t), word);
	else if (!number && bits != 32 && bits != 64)
		ptx_refuse(a->in, "PTX line %u has a byte count of unknown form", ptx_line_of(a));
}

bool ptx_has_constant_bytes(const struct insn_place *a)
{
	uint32_t t = a->access.bytes_operand;

	if (a->access.how == PTX_BYTES_COPIED)
		t = ptx_operand(a->in->m, a->at->place.node, 3);
	else if (a->access.how != PTX_BYTES_OPERAND)
		return true;
	return t == PTX_NONE || a->in->m->tokens[t].kind == PTX_NUMBER;
}

void ptx_emit_bytes(struct insn_place *a, uint32_t word, uint32_t i)
{
	switch (a->access.how) {
	case PTX_BYTES_TYPE:
	case PTX_BYTES_ROW:
	case PTX_BYTES_UNKNOWN:
		ptx_emit_constant(a, word, a->access.bytes);
		break;
	case PTX_BYTES_OPERAND:
		emit_number(a, word, a->access.bytes_operand);
		break;
	case PTX_BYTES_COPIED:
		emit_copied_bytes(a, word);
		break;
	}
}

/*
 * Emits code that sets a word to bytes 8 i to 8 i + 7 of the operand at token t. The operand is one element, or several
 * in braces.
 */
static void emit_elements(struct insn_place *a, uint32_t word, uint32_t t, uint32_t i)
{
	const struct ptx_module *m = a->in->m;
	uint32_t bytes = ptx_type_bytes(m, a->at->place.node), off = 0;

	ptx_emit_constant(a, word, 0);
	if (t == PTX_NONE || ptx_token_is(m, t, "_"))
		return;
	put(a, "{\n.reg .b64 %%gpubpf_e, %%gpubpf_f;\n");
	if (bytes == 16) {
		put(a, "mov.b128 {%%gpubpf_e, %%gpubpf_f}, %.*s;\n", (int)m->tokens[t].len, ptx_token_text(m, t));
		put(a, "mov.b64 " PTX_OPERAND "%u, %%gpubpf_%c;\n", word, i ? 'f' : 'e');
	}
	for (t += ptx_token_is(m, t, "{"); !a->in->err && bytes < 16 && off < a->access.bytes; off += bytes, t += 2) {
		uint32_t first = t;

		t += ptx_token_is(m, t, "-");
		if (off / 8 != i || ptx_token_is(m, t, "_"))
			continue;
		if (t + 1 >= m->nodes[a->at->place.node].end ||
		    ptx_emit_element(a->in, &a->text, a->at->place.node, first, bytes, "%gpubpf_e") < 0)
			ptx_refuse(a->in, "PTX line %u has a value of unknown form", ptx_line_of(a));
		put(a, "shl.b64 %%gpubpf_e, %%gpubpf_e, %u;\n", 8 * (off % 8));
		put(a, "or.b64 " PTX_OPERAND "%u, " PTX_OPERAND "%u, %%gpubpf_e;\n", word, word);
	}
	put(a, "}\n");
}

void ptx_emit_value(struct insn_place *a, uint32_t word, uint32_t i)
{
	emit_elements(a, word, a->access.value, i);
}

void ptx_emit_rmw(struct insn_place *a, uint32_t word, uint32_t i)
{
	static const struct {
		const char *modifier;
		enum gpubpf_rmw op;
	} ops[] = {
		{ ".add", GPUBPF_RMW_ADD },       { ".and", GPUBPF_RMW_AND },     { ".or", GPUBPF_RMW_OR },
		{ ".xor", GPUBPF_RMW_XOR },       { ".min", GPUBPF_RMW_MIN },     { ".max", GPUBPF_RMW_MAX },
		{ ".exch", GPUBPF_RMW_EXCHANGE }, { ".cas", GPUBPF_RMW_COMPARE }, { ".inc", GPUBPF_RMW_INC },
		{ ".dec", GPUBPF_RMW_DEC },
	};

	for (size_t k = 0; k < sizeof(ops) / sizeof(*ops); k++)
		if (ptx_has_modifiers(a->in->m, a->at->place.node, ops[k].modifier)) {
			ptx_emit_constant(a, word, ops[k].op);
			return;
		}
	ptx_refuse(a->in, "PTX line %u has an unknown atomic operation", ptx_line_of(a));
}

/* Syntax of a compare-and-swap: atom.cas d, [a], b, c. The value to compare (b) precedes the value to store (c). */
void ptx_emit_operand(struct insn_place *a, uint32_t word, uint32_t i)
{
	bool compares = ptx_has_modifiers(a->in->m, a->at->place.node, ".cas");

	emit_elements(a, word, compares ? ptx_operand(a->in->m, a->at->place.node, 2) : a->access.value, i);
}

/* Emits code that reads the old value of an atomic, after the instruction. Only `atom` returns it; `red` does not. */
void ptx_emit_old(struct insn_place *a, uint32_t word, uint32_t i)
{
	uint32_t node = a->at->place.node;
	bool says = ptx_token_is(a->in->m, a->in->m->nodes[node].name, "atom");

	emit_elements(a, word, says ? ptx_operand(a->in->m, node, 0) : PTX_NONE, i);
}
