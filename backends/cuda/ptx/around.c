/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes at single instructions, before or after them: what the place gives is read before the instruction, which may
 * write over the registers that say it, into registers of a block around both; and only what the probe reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "around.h"
#include "core/lower/ctx.h"
#include "register.h"

/* registers, in formats of printf */
#define OPERAND "%" CUDA_OPERAND
#define AT "%%gpubpf_at"     /* the address in its space */
#define WITHIN "%%gpubpf_in" /* the lane's access is one of the place's */

/* the place whose text is being made */
struct around {
	struct ptx_splice *in;
	struct ptx_text text;
	const struct ptx_placed *at;
	const struct gpubpf_place_kind *kind;
	struct ptx_access access;
};

#define put(a, ...) ptx_addf(&(a)->text, &(a)->in->err, __VA_ARGS__)

static uint32_t pc_line(const struct around *a)
{
	return a->in->m->tokens[a->in->m->nodes[a->at->place.node].name].line;
}

/* -- addresses -- */

/* Behind the base of an address, [base], [base+n], [base-n] or [base+-n]: what is to be added, as text; "" nothing. */
static bool offset_of(struct around *a, uint32_t t, char *sum, size_t size)
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

static void put_sum(struct around *a, const char *sum)
{
	if (sum[0])
		put(a, "add.s64 " AT ", " AT ", %s;\n", sum);
}

/* AT from "[base+n]". An address of 32 bits wraps within them. */
static void put_address(struct around *a)
{
	const struct ptx_module *m = a->in->m;
	uint32_t base = a->access.address + 1, bits;
	int len = m->tokens[base].len;
	const char *name = ptx_token_text(m, base);
	char sum[40];

	if (!offset_of(a, base + 1, sum, sizeof(sum))) {
		ptx_refuse(a->in, "the address of PTX line %u is of a form that is not known", pc_line(a));
		return;
	}
	put(a, ".reg .b64 " AT ";\n");
	bits = ptx_register_bits(m, a->at->place.node, base);
	if (m->tokens[base].kind == PTX_NUMBER || bits == 64) {
		put(a, "mov.b64 " AT ", %.*s;\n", len, name);
	} else if (bits == 32) {
		put(a, "{\n.reg .b32 %%gpubpf_w;\nadd.s32 %%gpubpf_w, %.*s, %s;\n", len, name, sum[0] ? sum : "0");
		put(a, "cvt.u64.u32 " AT ", %%gpubpf_w;\n}\n");
		return;
	} else if (ptx_put_variable(a->in, &a->text, a->at->place.node, base, "%gpubpf_at") < 0) {
		ptx_refuse(a->in, "the address of PTX line %u is of a form that is not known", pc_line(a));
	}
	put_sum(a, sum);
}

static bool is_generic(const struct around *a)
{
	return a->access.space == PTX_NONE;
}

/* ".shared" of an address that is generic: from sm_90 on, that of the cluster's other blocks too. */
static const char *asked_space(const struct around *a, uint32_t space)
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

/* Constants of the application are global memory for the twin, where it takes their generic addresses. */
static void check_constants(struct around *a)
{
	for (uint32_t i = 0; i < a->in->symbols.n; i++)
		if (a->in->symbols.symbols[i].constant && a->in->symbols.symbols[i].binding != PTX_NONE)
			ptx_refuse(a->in, "PTX line %u has a generic address, which may be of its constants, and these cannot be "
				   "told from global memory", pc_line(a));
}

/* -- what is read: one function a field of the context -- */

static void set(struct around *a, uint32_t word, uint64_t value)
{
	put(a, "mov.b64 " OPERAND "%u, %llu;\n", word, (unsigned long long)value);
}

static void put_place(struct around *a, uint32_t word, uint32_t i)
{
	set(a, word, a->at->place.id);
}

static void put_line(struct around *a, uint32_t word, uint32_t i)
{
	set(a, word, a->at->place.line);
}

static void put_addr(struct around *a, uint32_t word, uint32_t i)
{
	const struct ptx_module *m = a->in->m;
	uint32_t space = a->access.space;

	if (a->access.spaces == GPUBPF_IN(SHARED) || a->access.spaces == GPUBPF_IN(LOCAL))
		put(a, "cvta%.*s.u64 " OPERAND "%u, " AT ";\n", (int)m->tokens[space].len, ptx_token_text(m, space), word);
	else
		put(a, "mov.b64 " OPERAND "%u, " AT ";\n", word);
}

static void put_offset(struct around *a, uint32_t word, uint32_t i)
{
	static const uint32_t own[] = { GPUBPF_IN(SHARED), GPUBPF_IN(LOCAL) };

	put(a, "mov.b64 " OPERAND "%u, " AT ";\n", word);
	for (size_t k = 0; is_generic(a) && k < sizeof(own) / sizeof(*own); k++) {
		const char *space = asked_space(a, own[k]);

		put(a, "{\n.reg .pred %%gpubpf_p;\nisspacep.%s %%gpubpf_p, " AT ";\n", space);
		put(a, "@%%gpubpf_p cvta.to.%s.u64 " OPERAND "%u, " AT ";\n}\n", space, word);
	}
}

static void put_space(struct around *a, uint32_t word, uint32_t i)
{
	static const enum gpubpf_mem_space spaces[] = { GPUBPF_GLOBAL, GPUBPF_SHARED, GPUBPF_LOCAL, GPUBPF_CONSTANT };

	if (is_generic(a)) {
		check_constants(a);
		set(a, word, GPUBPF_GENERIC);
	}
	for (size_t k = 0; k < sizeof(spaces) / sizeof(*spaces); k++) {
		if (!(a->access.spaces >> spaces[k] & 1))
			continue;
		if (is_generic(a))
			put(a, "{\n.reg .pred %%gpubpf_p;\nisspacep.%s %%gpubpf_p, " AT ";\n@%%gpubpf_p ",
			    asked_space(a, 1u << spaces[k]));
		set(a, word, spaces[k]);
		if (is_generic(a))
			put(a, "}\n");
	}
}

static void put_access(struct around *a, uint32_t word, uint32_t i)
{
	set(a, word, a->access.access);
}

static void put_count(struct around *a, uint32_t word, uint32_t i)
{
	set(a, word, a->access.count);
}

static void put_number(struct around *a, uint32_t word, uint32_t t)
{
	char to[40];

	snprintf(to, sizeof(to), OPERAND "%u", word);
	if (ptx_put_element(a->in, &a->text, a->at->place.node, t, 4, to) < 0)
		ptx_refuse(a->in, "PTX line %u says its bytes in a form that is not known", pc_line(a));
}

/* [dst], [src], cp-size{, src-size | ignore-src}{, cache-policy} (PTX ISA 9.7.9.25.3.1): a number, a predicate, 64 bits. */
static void put_copied(struct around *a, uint32_t word)
{
	uint32_t t = ptx_operand(a->in->m, a->at->place.node, 3);
	uint32_t bits = t == PTX_NONE ? 64 : ptx_register_bits(a->in->m, a->at->place.node, t);
	bool number = t != PTX_NONE && a->in->m->tokens[t].kind == PTX_NUMBER;

	put_number(a, word, number || bits == 32 ? t : a->access.said);
	if (bits == PTX_PREDICATE)
		put(a, "@%.*s mov.b64 " OPERAND "%u, 0;\n", (int)a->in->m->tokens[t].len, ptx_token_text(a->in->m, t), word);
	else if (!number && bits != 32 && bits != 64)
		ptx_refuse(a->in, "PTX line %u says its bytes in a form that is not known", pc_line(a));
}

static void put_bytes(struct around *a, uint32_t word, uint32_t i)
{
	switch (a->access.how) {
	case PTX_BYTES_TYPE:
	case PTX_BYTES_ROW:
	case PTX_BYTES_UNSAID:
		set(a, word, a->access.bytes);
		break;
	case PTX_BYTES_OPERAND:
		put_number(a, word, a->access.said);
		break;
	case PTX_BYTES_COPIED:
		put_copied(a, word);
		break;
	}
}

/* Bytes 8 i to 8 i + 7 of what is stored, of elements in braces or one. */
static void put_value(struct around *a, uint32_t word, uint32_t i)
{
	const struct ptx_module *m = a->in->m;
	uint32_t t = a->access.value, bytes = ptx_type_bytes(m, a->at->place.node), off = 0;

	set(a, word, 0);
	if (t == PTX_NONE)
		return;
	put(a, "{\n.reg .b64 %%gpubpf_e, %%gpubpf_f;\n");
	if (bytes == 16) {
		put(a, "mov.b128 {%%gpubpf_e, %%gpubpf_f}, %.*s;\n", (int)m->tokens[t].len, ptx_token_text(m, t));
		put(a, "mov.b64 " OPERAND "%u, %%gpubpf_%c;\n", word, i ? 'f' : 'e');
	}
	for (t += ptx_token_is(m, t, "{"); !a->in->err && bytes < 16 && off < a->access.bytes; off += bytes, t += 2) {
		uint32_t first = t;

		t += ptx_token_is(m, t, "-");
		if (off / 8 != i)
			continue;
		if (t + 1 >= m->nodes[a->at->place.node].end ||
		    ptx_put_element(a->in, &a->text, a->at->place.node, first, bytes, "%gpubpf_e") < 0)
			ptx_refuse(a->in, "PTX line %u stores a value of a form that is not known", pc_line(a));
		put(a, "shl.b64 %%gpubpf_e, %%gpubpf_e, %u;\n", 8 * (off % 8));
		put(a, "or.b64 " OPERAND "%u, " OPERAND "%u, %%gpubpf_e;\n", word, word);
	}
	put(a, "}\n");
}

static const struct {
	const char *field;
	void (*give)(struct around *a, uint32_t word, uint32_t i);
	bool address;              /* it needs AT */
} fields[] = {
	{ "place", put_place }, { "line", put_line }, { "mem.addr", put_addr, true }, { "mem.offset", put_offset, true },
	{ "mem.value", put_value }, { "mem.bytes", put_bytes }, { "mem.access", put_access },
	{ "mem.space", put_space, true }, { "mem.count", put_count },
};

#define NFIELDS (sizeof(fields) / sizeof(*fields))

/* -- lanes that take part -- */

/* Rows of a matrix are those of the first lanes. */
static uint32_t rows_of(const struct around *a)
{
	const struct ptx_node *insn = &a->in->m->nodes[a->at->place.node];

	if (a->access.how != PTX_BYTES_ROW || ptx_has_modifier(a->in, insn, ".x4"))
		return 32;
	return ptx_has_modifier(a->in, insn, ".x2") ? 16 : 8;
}

/* The spaces of a place are some of those that the address may be of. */
static bool asks_space(const struct around *a)
{
	return a->access.spaces & ~a->kind->spaces;
}

/* WITHIN, where not every lane that executes it takes part. */
static void put_within(struct around *a)
{
	if (rows_of(a) < 32) {
		put(a, ".reg .pred " WITHIN ";\n{\n.reg .b32 %%gpubpf_w;\nmov.u32 %%gpubpf_w, %%laneid;\n");
		put(a, "setp.lt.u32 " WITHIN ", %%gpubpf_w, %u;\n}\n", rows_of(a));
	} else if (asks_space(a)) {
		check_constants(a);
		put(a, ".reg .pred " WITHIN ";\n");
		put(a, "isspacep.%s " WITHIN ", " AT ";\n", asked_space(a, a->kind->spaces & a->access.spaces));
	}
}

/* -- the place -- */

static void put_operand(struct around *a, const struct ctx_field *field, uint32_t i, bool *address)
{
	uint32_t word = ctx_field_word(field, i, a->at->place.kind), f = 0;

	if (word == UINT32_MAX || !(a->at->probe->reads >> word & 1))
		return;
	while (strcmp(fields[f].field, field->name))
		f++;
	if (!*address && fields[f].address)
		put_address(a);
	*address |= fields[f].address;
	put(a, ".reg .b64 " OPERAND "%u;\n", word);
	fields[f].give(a, word, i);
}

static void put_operands(struct around *a)
{
	bool address = asks_space(a);

	if (address)
		put_address(a);
	put_within(a);
	for (uint32_t k = 0; k < ctx_nfields; k++)
		for (uint32_t i = 0; i < ctx_fields[k].count; i++)
			put_operand(a, &ctx_fields[k], i, &address);
}

/* The probe, by the lanes that execute the instruction and take part. */
static void put_probe(struct around *a)
{
	const struct ptx_module *m = a->in->m;
	const struct ptx_node *insn = &m->nodes[a->at->place.node];
	uint32_t label = ++a->in->labels;

	if (insn->guard != PTX_NONE)
		put(a, "@%s%.*s bra $gpubpf_over_%u;\n", ptx_token_is(m, insn->guard - 1, "!") ? "" : "!",
		    (int)m->tokens[insn->guard].len, ptx_token_text(m, insn->guard), label);
	if (asks_space(a) || rows_of(a) < 32)
		put(a, "@!" WITHIN " bra $gpubpf_over_%u;\n", label);
	put(a, "{\n");
	ptx_add(&a->text, &a->in->err, a->at->probe->body, a->at->probe->body_size);
	put(a, "\n}\n$gpubpf_over_%u:\n}\n", label);
}

static void check(struct around *a, uint32_t function)
{
	const struct ptx_module *m = a->in->m;
	const struct ptx_node *insn = &m->nodes[a->at->place.node];
	int len = ptx_token_text(m, insn->operands - 1) + m->tokens[insn->operands - 1].len - ptx_token_text(m, insn->name);

	if (a->access.unseen)
		ptx_refuse(a->in, "gpu/%s/ cannot see %s by %.*s (PTX line %u)", a->kind->name, a->access.unseen, len,
			   ptx_token_text(m, insn->name), pc_line(a));
	if (a->at->probe->reads_params && function != a->in->kernel_node)
		ptx_refuse(a->in, "a function that it calls has such a place (PTX line %u), and the probe reads arguments, which "
			   "are not at hand there", pc_line(a));
}

static bool is_after(const struct ptx_placed *at)
{
	return gpubpf_place_kind(at->place.kind)->when == GPUBPF_WHEN_AFTER;
}

static void around(struct ptx_splice *in, uint32_t function, const struct ptx_placed *at, bool after)
{
	struct around a = { .in = in, .at = at, .kind = gpubpf_place_kind(at->place.kind) };
	const struct ptx_node *insn = &in->m->nodes[at->place.node];
	struct ptx_access accesses[PTX_MOST_ACCESSES];

	ptx_accesses(in->m, at->place.node, accesses);
	a.access = accesses[at->place.access];
	check(&a, function);
	if (in->err)
		return;
	put(&a, after ? "\n" : "\n{\n");
	if (!after)
		put_operands(&a);
	if (after || !is_after(at))
		put_probe(&a);
	ptx_edit(in, PTX_INSERT, after ? insn->end : insn->first, 0, a.text);
}

/* Behind the instruction in the places' order; so the blocks that are open around it were opened in the other one. */
void ptx_edit_around(struct ptx_splice *in, uint32_t function, const struct ptx_placed *placed, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (placed[i].probe && !is_after(&placed[i]))
			around(in, function, &placed[i], false);
	for (uint32_t i = n; i-- > 0;)
		if (placed[i].probe && is_after(&placed[i]))
			around(in, function, &placed[i], false);
	for (uint32_t i = 0; i < n; i++)
		if (placed[i].probe && is_after(&placed[i]))
			around(in, function, &placed[i], true);
}
