/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: edits a function of the twin: adds the probes, and redirects references to the application's variables.
 * Before: a node of the function, its definition or a declaration.
 * After: in->edits adds the probes at the function's top, around instructions and at exits.
 * Requires: the needed symbols and their binding numbers (closure.c).
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/wire/twin_format.h"
#include "insn_probe.h"

/* Reads special registers into copies, once at the function's top. Instruction probes read the copies. */
static void read_special_registers(struct ptx_splice *in, struct ptx_text *text)
{
	if (in->reads_sm)
		ptx_addf(text, &in->err, "\n.reg .b32 %s;\nmov.u32 %s, %%smid;", CUDA_SM, CUDA_SM);
	if (in->reads_lane)
		ptx_addf(text, &in->err, "\n.reg .b32 %s;\nmov.u32 %s, %%laneid;", CUDA_LANE, CUDA_LANE);
	if (in->reads_active_mask)
		ptx_addf(text, &in->err, "\n%s", CUDA_DECLARE_ACTIVE);
	if (in->needs_opaque_false)
		ptx_declare_opaque_false(in, text);
}

/*
 * Where probes of each kind of site are added: at the top of a body or at each of its exits. The file insn_probe.c adds
 * the probes at single instructions.
 */
static const struct site_rule {
	bool at_entry, at_exit;
	void (*add)(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe);
} site_rules[GPUBPF_NSITES] = {
	[GPUBPF_SITE_ENTRY] = { .at_entry = true, .add = ptx_add_converged },
	[GPUBPF_SITE_CALL] = { .at_entry = true, .add = ptx_add_converged },
	[GPUBPF_SITE_BLOCK_BEGIN] = { .at_entry = true, .add = ptx_emit_first_lane },
	[GPUBPF_SITE_EXIT] = { .at_exit = true, .add = ptx_add_probe },
	[GPUBPF_SITE_CALL_EXIT] = { .at_exit = true, .add = ptx_add_converged },
	[GPUBPF_SITE_BLOCK_END] = { .at_exit = true, .add = ptx_emit_last_lane },
};

/* Adds the probe of a place at an exit of the kernel or function: EXIT, CALL_EXIT or BLOCK_END. */
static void add_exit_probe(struct ptx_splice *in, struct ptx_text *text, uint32_t function, const struct ptx_site *at)
{
	if (at->place.kind != GPUBPF_SITE_CALL_EXIT && at->probe->reads_params && function != in->kernel_node)
		ptx_refuse(in, "a function that it calls ends the thread; the probe cannot read the kernel's "
			       "arguments there");
	else if (at->place.node != PTX_NONE)
		ptx_check_params(in, at->probe, function, at->place.node);
	assert(site_rules[at->place.kind].at_exit);
	site_rules[at->place.kind].add(in, text, at->probe);
}

static bool has_probe(const struct ptx_site *at, uint32_t n)
{
	while (n && !at[n - 1].probe)
		n--;
	return n;
}

/*
 * Replaces an exit by the probes' code and the exit. If the exit has a predicate, the lanes that do not exit branch
 * over this code.
 */
static void edit_exit(struct ptx_splice *in, uint32_t function, const struct ptx_site *at, uint32_t n)
{
	const struct ptx_module *m = in->m;
	const struct ptx_node *insn = &m->nodes[at->place.node], *exit = &m->nodes[at->place.exit];
	struct ptx_text text = { 0 };
	char skip[40] = "";

	in->exits++;
	if (has_probe(at, n) && ++in->probed_exits > CUDA_MAX_EXITS)
		ptx_refuse(in, "it has more than %d exits", CUDA_MAX_EXITS);
	ptx_addf(&text, &in->err, "\n");
	if (insn->guard != PTX_NONE) {
		bool negated = ptx_word_is(in, insn->guard - 1, "!");

		snprintf(skip, sizeof(skip), "$gpubpf_skip_%u", in->exits);
		ptx_addf(&text, &in->err, "@%s", negated ? "" : "!");
		ptx_add(&text, &in->err, ptx_token_text(m, insn->guard), m->tokens[insn->guard].len);
		ptx_addf(&text, &in->err, " bra %s;\n", skip);
	}
	ptx_flush_accumulators(in, &text);
	for (uint32_t i = 0; i < n; i++)
		if (at[i].probe)
			add_exit_probe(in, &text, function, &at[i]);
	ptx_add(&text, &in->err, ptx_token_text(m, exit->name),
		m->tokens[exit->end - 1].off + m->tokens[exit->end - 1].len - m->tokens[exit->name].off);
	if (skip[0])
		ptx_addf(&text, &in->err, "\n%s:", skip);
	ptx_edit(in, PTX_REPLACE, insn->first, insn->end, text);
}

/* Replaces a reference to an application's variable by the register that holds the variable's address. */
static void edit_variable(struct ptx_splice *in, const struct ptx_node *insn, uint32_t t, uint32_t binding)
{
	struct ptx_text text = { 0 };

	/* mov accepts a variable plus a constant, but not a register plus a constant (PTX ISA 9.7.9.6) */
	if (ptx_word_is(in, insn->name, "mov") && ptx_word_is(in, t + 1, "+")) {
		ptx_addf(&text, &in->err, "add.s64");
		ptx_edit(in, PTX_REPLACE, insn->name, insn->operands, text);
		text = (struct ptx_text){ 0 };
		ptx_addf(&text, &in->err, "%%gpubpf_v%u,", binding);
		ptx_edit(in, PTX_REPLACE, t, t + 2, text);
		return;
	}
	ptx_addf(&text, &in->err, "%%gpubpf_v%u", binding);
	ptx_edit(in, PTX_REPLACE, t, t + 1, text);
}

/* Replaces .const by .global in an access, because the twin reads the application's constants through global memory. */
static void edit_const_space(struct ptx_splice *in, const struct ptx_node *insn)
{
	struct ptx_text text = { 0 };

	if (ptx_word_is(in, insn->name, "isspacep")) {
		ptx_refuse(in,
			   "it tests whether an address is in constant memory (PTX line %u), but its twin has the "
			   "constants in global memory",
			   in->m->tokens[insn->name].line);
		return;
	}
	for (uint32_t t = insn->name + 1; t < insn->operands; t++)
		if (ptx_word_is(in, t, ".const")) {
			ptx_addf(&text, &in->err, ".global");
			ptx_edit(in, PTX_REPLACE, t, t + 1, text);
			return;
		}
}

static void edit_insn(struct ptx_splice *in, uint32_t function, uint32_t node)
{
	const struct ptx_node *insn = &in->m->nodes[node];
	const struct ptx_site *at = &in->placed[in->next];
	uint32_t n = 0, exits = 0;

	while (in->next < in->nplaced && in->placed[in->next].place.node == node) {
		exits += in->placed[in->next++].place.exit != PTX_NONE;
		n++;
	}
	ptx_edit_insn_probes(in, function, at + exits, n - exits);
	ptx_edit_sunk_probes(in, function, node);
	if (has_probe(at, exits) || (exits && ptx_has_accumulators(in))) {
		edit_exit(in, function, at, exits);
		return;
	}
	if (ptx_has_modifier(in, insn, ".const"))
		edit_const_space(in, insn);
	for (uint32_t t = insn->operands; t < insn->end; t++) {
		const struct ptx_symbol *symbol = ptx_symbols_find_at(&in->symbols, node, t);

		if (symbol && symbol->binding != PTX_NONE)
			edit_variable(in, insn, t, symbol->binding);
	}
}

/*
 * Edits the top of a body: loads the addresses of the variables that the function uses, then adds the probes at entry.
 */
static void edit_top(struct ptx_splice *in, uint32_t function, uint32_t body)
{
	const struct ptx_module *m = in->m;
	struct ptx_text text = { 0 };
	uint64_t *used = calloc(in->nbindings / 64 + 1, sizeof(*used));

	if (!used) {
		in->err = -ENOMEM;
		in->nplaced = in->next = 0;
		return;
	}
	PTX_FOR_EACH_NODE(m, function, node)
	{
		if (m->nodes[node].kind != PTX_INSN)
			continue;
		for (uint32_t t = m->nodes[node].operands; t < m->nodes[node].end; t++) {
			const struct ptx_symbol *symbol = ptx_symbols_find_at(&in->symbols, node, t);
			uint32_t b = symbol ? symbol->binding : PTX_NONE;

			if (b == PTX_NONE || used[b / 64] >> (b % 64) & 1)
				continue;
			used[b / 64] |= 1ull << (b % 64);
			ptx_addf(&text, &in->err,
				 "\n.reg .b64 %%gpubpf_v%u;\nld.const.u64 %%gpubpf_v%u, [" CUDA_BIND_PREFIX "%u];", b,
				 b, b);
		}
	}
	free(used);
	if (in->copies_result)
		ptx_addf(&text, &in->err, "\n.reg .b64 %s;\nmov.b64 %s, 0;", CUDA_RESULT, CUDA_RESULT);
	ptx_begin_accumulators(in, &text);
	read_special_registers(in, &text);
	if (function == in->kernel_node) {
		ptx_begin_block_probes(in, &text);
		ptx_init_lane_count(in, &text);
	}
	ptx_add(&text, &in->err, "\n", 1);
	for (; in->next < in->nplaced && site_rules[in->placed[in->next].place.kind].at_entry; in->next++) {
		const struct ptx_site *at = &in->placed[in->next];

		if (at->probe)
			site_rules[at->place.kind].add(in, &text, at->probe);
	}
	ptx_edit(in, PTX_INSERT, m->nodes[body].first + 1, 0, text);
}

/* Adds the exit probes at the end of a body, where control reaches the end without a ret. */
static void edit_bottom(struct ptx_splice *in, uint32_t function, uint32_t body)
{
	const struct ptx_site *at = &in->placed[in->next];
	uint32_t n = in->nplaced - in->next, last = PTX_NONE;
	const struct ptx_module *m = in->m;
	struct ptx_text text = { 0 };

	if (!has_probe(at, n) && !(n && ptx_has_accumulators(in)))
		return;
	for (uint32_t c = m->nodes[body].child; c != PTX_NONE; c = m->nodes[c].next)
		if (m->nodes[c].kind == PTX_INSN || m->nodes[c].kind == PTX_LABEL || m->nodes[c].kind == PTX_BLOCK)
			last = c;
	ptx_add(&text, &in->err, "\n", 1);
	ptx_flush_accumulators(in, &text);
	for (uint32_t i = 0; i < n; i++) {
		if (!at[i].probe)
			continue;
		if (last != PTX_NONE)
			ptx_check_params(in, at[i].probe, function, last);
		add_exit_probe(in, &text, function, &at[i]);
	}
	ptx_addf(&text, &in->err, "ret;\n");
	ptx_edit(in, PTX_INSERT, m->nodes[body].end - 1, 0, text);
}

/*
 * Turns a node that is not the function's definition into a declaration with the definition's linkage. A linked module
 * may declare the function .extern, but the twin has the definition. A weak definition loses its body if the twin has
 * the strong one.
 */
static void edit_declaration(struct ptx_splice *in, const struct ptx_symbol *symbol, uint32_t function, uint32_t body)
{
	const struct ptx_module *m = in->m;
	uint32_t first = m->nodes[function].first, linkage = m->nodes[symbol->node].first;
	struct ptx_text text = { 0 }, end = { 0 };

	if (!symbol->defined || (body == PTX_NONE && !ptx_word_is(in, first, ".extern")))
		return;
	if (!ptx_word_is(in, linkage, ".func"))
		ptx_add(&text, &in->err, ptx_token_text(m, linkage), m->tokens[linkage].len);
	ptx_edit(in, PTX_REPLACE, first, first + 1, text);
	if (body == PTX_NONE)
		return;
	ptx_addf(&end, &in->err, ";");
	ptx_edit(in, PTX_REPLACE, m->nodes[body].first, m->nodes[body].end, end);
}

void ptx_edit_function(struct ptx_splice *in, const struct ptx_symbol *symbol, uint32_t function)
{
	const struct ptx_module *m = in->m;
	uint32_t body = ptx_child(m, function, PTX_BLOCK, 0);
	struct ptx_text text = { 0 };

	if (body == PTX_NONE || symbol->node != function) {
		edit_declaration(in, symbol, function, body);
		return;
	}
	if (function == in->kernel_node) {
		ptx_addf(&text, &in->err, CUDA_TWIN_PREFIX "%s%s", in->kernel, in->flat ? CUDA_FLAT_SUFFIX : "");
		ptx_edit(in, PTX_REPLACE, m->nodes[function].name, m->nodes[function].name + 1, text);
	}
	if (function == in->kernel_node && in->at.job->registers) {
		struct ptx_text most = { 0 };

		/* the assembler uses the last of several .maxnreg */
		ptx_addf(&most, &in->err, ".maxnreg %u\n", in->at.job->registers);
		ptx_edit(in, PTX_INSERT, m->nodes[body].first, 0, most);
	}
	ptx_find_probes(in, function);
	ptx_check_result(in, function);
	edit_top(in, function, body);
	PTX_FOR_EACH_NODE(m, function, node)
	{
		const struct ptx_node *n = &m->nodes[node];

		if (n->kind == PTX_INSN || n->kind == PTX_MARK)
			edit_insn(in, function, node);
		if (n->kind == PTX_INSN && in->copies_result)
			ptx_copy_result(in, function, node);
		else if (n->kind == PTX_DIRECTIVE && ptx_word_is(in, n->name, ".loc"))
			ptx_edit(in, PTX_REPLACE, n->first, n->end, (struct ptx_text){ 0 });
	}
	edit_bottom(in, function, body);
}
