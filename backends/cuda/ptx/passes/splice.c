/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: builds a twin's PTX from the kernel's module and the extracted probes.
 * Before: the module is parsed, and each site has a cuda_probe.
 * After: the text has the kernel, its callees, the probes at their places, and the bindings' constants.
 * Requires: the symbols (backends/cuda/ptx/ir/symbols.c), the closure (backends/cuda/ptx/analysis/closure.c), and the places of each function (backends/cuda/ptx/analysis/places.c).
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/wire/twin_format.h"
#include "core/wire/name.h"
#include "insn_probe.h"
#include "backends/cuda/ptx/analysis/params.h"

#define ACTIVE_LANES "%%gpubpf_here" /* mask of the lanes that are active at the probe */
#define OPAQUE_FALSE "%%gpubpf_nobody" /* false for every lane, which ptxas cannot prove */

static void declare_opaque_false(struct ptx_splice *in, struct ptx_text *text)
{
	ptx_addf(text, &in->err, "\n.reg .pred " OPAQUE_FALSE ";\n{\n.reg .b32 %%gpubpf_below, %%gpubpf_above;\n");
	ptx_addf(text, &in->err, "mov.u32 %%gpubpf_below, %%lanemask_lt;\nmov.u32 %%gpubpf_above, %%lanemask_gt;\n");
	ptx_addf(text, &in->err, "setp.eq.u32 " OPAQUE_FALSE ", %%gpubpf_above, %%gpubpf_below;\n}\n");
}

static bool needs_reconvergence(const struct cuda_probe *probe)
{
	return probe->may_diverge && !probe->ends_thread;
}

/* Reads special registers once at function entry; instruction probes use the copies. */
static void read_special_registers(struct ptx_splice *in, struct ptx_text *text)
{
	if (in->reads_sm)
		ptx_addf(text, &in->err, "\n.reg .b32 %s;\nmov.u32 %s, %%smid;", CUDA_SM, CUDA_SM);
	if (in->reads_lane)
		ptx_addf(text, &in->err, "\n.reg .b32 %s;\nmov.u32 %s, %%laneid;", CUDA_LANE, CUDA_LANE);
	if (in->asks_came)
		ptx_addf(text, &in->err, "\n%s", CUDA_DECLARE_ACTIVE);
	if (in->needs_opaque_false)
		declare_opaque_false(in, text);
}

/* Lanes that wait after a loop may resume before all have arrived: ptxas adds YIELD to loops that read memory written
 * by other threads. BSYNC releases waiting lanes at YIELD (seen on an H200), and the code after it then runs diverged.
 * The bar.warp.sync makes the lanes wait once more, but does not reconverge them. They reconverge at the end of the
 * opaque branch over OPAQUE_FALSE, in which no lane yields any more. */
uint32_t ptx_begin_reconverge(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe)
{
	ptx_addf(text, &in->err, "{\n");
	if (!needs_reconvergence(probe))
		return 0;
	if (!probe->is_insn_probe)
		declare_opaque_false(in, text);
	ptx_addf(text, &in->err, ".reg .b32 " ACTIVE_LANES ";\n@" OPAQUE_FALSE " bra $gpubpf_met_%u;\nactivemask.b32 " ACTIVE_LANES ";\n", ++in->labels);
	return in->labels;
}

void ptx_end_reconverge(struct ptx_splice *in, struct ptx_text *text, uint32_t meeting)
{
	if (meeting)
		ptx_addf(text, &in->err, "bar.warp.sync " ACTIVE_LANES ";\n$gpubpf_met_%u:\n", meeting);
	ptx_addf(text, &in->err, "}\n");
}

void ptx_add_probe(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe)
{
	ptx_add(text, &in->err, "{\n", 2);
	ptx_add(text, &in->err, probe->body, probe->body_size);
	ptx_add(text, &in->err, "\n}\n", 3);
}

/* Adds a probe after which the lanes continue in the function. */
static void add_converged(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe)
{
	uint32_t meeting = ptx_begin_reconverge(in, text, probe);

	ptx_add_probe(in, text, probe);
	ptx_end_reconverge(in, text, meeting);
}

void ptx_check_params(struct ptx_splice *in, const struct cuda_probe *probe, uint32_t function, uint32_t node)
{
	uint32_t param;

	if (!probe->reads_params)
		return;
	for (uint32_t i = 0; (param = cuda_param_node(in->m, function, i)) != PTX_NONE; i++)
		if (ptx_declaration(in->m, node, in->m->nodes[param].name) != param)
			ptx_refuse(in, "the probe reads arguments, but a block redeclares the parameter's name %.*s",
			       in->m->tokens[in->m->nodes[param].name].len,
			       ptx_token_text(in->m, in->m->nodes[param].name));
}

/* How the probe of each site kind is added, at the top of a body or at its exits. insn_probe.c adds probes at single
 * instructions. */
static const struct site_rule {
	bool top, left;
	void (*add)(struct ptx_splice *in, struct ptx_text *text, const struct cuda_probe *probe);
} site_rules[GPUBPF_NSITES] = {
	[GPUBPF_SITE_ENTRY] = { .top = true, .add = add_converged },
	[GPUBPF_SITE_CALL] = { .top = true, .add = add_converged },
	[GPUBPF_SITE_BLOCK_BEGIN] = { .top = true, .add = ptx_emit_first_lane },
	[GPUBPF_SITE_EXIT] = { .left = true, .add = ptx_add_probe },
	[GPUBPF_SITE_CALL_EXIT] = { .left = true, .add = add_converged },
	[GPUBPF_SITE_BLOCK_END] = { .left = true, .add = ptx_emit_last_lane },
};

/* Adds a probe where the kernel or function is left: the exit's own probe, or the probe of the block's last lane. */
static void add_exit_probe(struct ptx_splice *in, struct ptx_text *text, uint32_t function, const struct ptx_site *at)
{
	if (at->place.kind != GPUBPF_SITE_CALL_EXIT && at->probe->reads_params && function != in->kernel_node)
		ptx_refuse(in, "a function that it calls ends the thread, where the probe cannot read the kernel's "
			       "arguments");
	else if (at->place.node != PTX_NONE)
		ptx_check_params(in, at->probe, function, at->place.node);
	assert(site_rules[at->place.kind].left);
	site_rules[at->place.kind].add(in, text, at->probe);
}

static bool has_probe(const struct ptx_site *at, uint32_t n)
{
	while (n && !at[n - 1].probe)
		n--;
	return n;
}

/* Replaces an exit by the probe code followed by the exit. The code for a predicated exit is skipped by a branch. */
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

/* Replaces a reference to an application's variable by the register that holds its address. */
static void edit_variable(struct ptx_splice *in, const struct ptx_node *insn, uint32_t t, uint32_t binding)
{
	struct ptx_text text = { 0 };

	/* mov accepts a variable plus a constant, but no register plus a constant (9.7.9.6) */
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

/* Redirects an access from .const to .global: for the twin, the application's constants lie in global memory. */
static void edit_const_space(struct ptx_splice *in, const struct ptx_node *insn)
{
	struct ptx_text text = { 0 };

	if (ptx_word_is(in, insn->name, "isspacep")) {
		ptx_refuse(in, "it tests whether an address is in constant memory (PTX line %u), but its twin has the "
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

static uint32_t requested_kinds(const struct ptx_splice *in)
{
	uint32_t kinds = 0;

	for (uint32_t i = 0; i < in->at.job->nsites; i++)
		kinds |= 1u << in->at.job->sites[i].site;
	return kinds;
}

static void collect_needs(struct ptx_splice *in, const struct cuda_probe *probe)
{
	in->copies_result |= probe->reads_result;
	in->reads_sm |= probe->reads_sm;
	in->reads_lane |= probe->reads_lane;
	in->asks_came |= probe->asks_came;
	in->needs_opaque_false |= probe->is_insn_probe && needs_reconvergence(probe);
}

/* Finds the places of a function and the probes that run there. */
static void find_probes(struct ptx_splice *in, uint32_t function)
{
	const struct ptx_token *name = &in->m->tokens[in->m->nodes[function].name];
	struct ptx_place *places = NULL;
	char words[256] = "";

	in->nplaced = in->next = 0;
	in->copies_result = in->reads_sm = in->reads_lane = in->asks_came = in->needs_opaque_false = false;
	free(in->placed);
	in->placed = NULL;
	if (ptx_places(in->m, function, requested_kinds(in), &places, &in->nplaced) == 0)
		in->placed = calloc(in->nplaced + 1, sizeof(*in->placed));
	if (!in->placed) {
		in->err = -ENOMEM;
		in->nplaced = 0;
	}
	if (function != in->kernel_node)
		gpubpf_name_short(in->m->text + name->off, name->len, words);
	for (uint32_t i = 0; i < in->nplaced; i++) {
		uint32_t site = gpubpf_site_at(&in->at, places[i].kind, words, places[i].id);

		in->placed[i] = (struct ptx_site){ places[i], site == UINT32_MAX ? NULL : &in->probes[site], PTX_NONE, PTX_NONE, PTX_ACTIVE_OWN, places[i].node };
		if (in->meets && ptx_is_branch_to_exit(&places[i])) /* the probe runs at the branch's target, after the barrier */
			in->placed[i].probe = NULL;
		if (in->placed[i].probe)
			collect_needs(in, in->placed[i].probe);
	}
	free(places);
	ptx_sink_probes(in);
	ptx_share_active_mask(in);
	ptx_assign_accumulators(in, function);
}

/* Edits the top of a body: loads the addresses of the variables that it uses, then adds the probes. */
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
	PTX_FOR_EACH_NODE(m, function, node) {
		if (m->nodes[node].kind != PTX_INSN)
			continue;
		for (uint32_t t = m->nodes[node].operands; t < m->nodes[node].end; t++) {
			const struct ptx_symbol *symbol = ptx_symbols_find_at(&in->symbols, node, t);
			uint32_t b = symbol ? symbol->binding : PTX_NONE;

			if (b == PTX_NONE || used[b / 64] >> (b % 64) & 1)
				continue;
			used[b / 64] |= 1ull << (b % 64);
			ptx_addf(&text, &in->err,
			     "\n.reg .b64 %%gpubpf_v%u;\nld.const.u64 %%gpubpf_v%u, [" CUDA_BIND_PREFIX "%u];", b, b,
			     b);
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
	for (; in->next < in->nplaced && site_rules[in->placed[in->next].place.kind].top; in->next++) {
		const struct ptx_site *at = &in->placed[in->next];

		if (at->probe)
			site_rules[at->place.kind].add(in, &text, at->probe);
	}
	ptx_edit(in, PTX_INSERT, m->nodes[body].first + 1, 0, text);
}

/* Adds the remaining probes where the function runs off its end. */
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

/* Edits a declaration. A function defined in another linked module becomes a function of the twin. A strong definition
 * replaces this module's weak one. */
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

static void edit_function(struct ptx_splice *in, const struct ptx_symbol *symbol, uint32_t function)
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

		ptx_addf(&most, &in->err, ".maxnreg %u\n", in->at.job->registers); /* the last one counts */
		ptx_edit(in, PTX_INSERT, m->nodes[body].first, 0, most);
	}
	find_probes(in, function);
	ptx_check_result(in, function);
	edit_top(in, function, body);
	PTX_FOR_EACH_NODE(m, function, node) {
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

/* Returns true if the twin keeps this node of a symbol. It keeps the definition, and declarations before it or without
 * one. A weak definition before the strong one is kept too, edited to a declaration. Assemblers reject a declaration
 * after the definition as a second one. */
static bool keeps_node(const struct ptx_splice *in, const struct ptx_symbol *symbol, uint32_t node)
{
	if (!symbol || !symbol->needed || !(symbol->function || symbol->shared))
		return false;
	if (!symbol->function || in->m->nodes[node].entry)
		return node == symbol->node;
	return node <= symbol->node || !symbol->defined;
}

/* Deletes the top-level nodes that the twin does not have, and edits the others. */
static void drop_unneeded(struct ptx_splice *in)
{
	const struct ptx_module *m = in->m;

	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next) {
		const struct ptx_node *node = &m->nodes[c];
		bool keep = false;

		if (in->flat)
			keep = c == in->kernel_node;
		else if (node->kind == PTX_DIRECTIVE)
			keep = ptx_edit_directive(in, node);
		else if (node->kind == PTX_FUNCTION || node->kind == PTX_VARIABLE)
			for (uint32_t t = node->name; t != PTX_NONE; t = ptx_next_name(m, c, t))
				keep |= keeps_node(in, ptx_symbols_find(&in->symbols, t), c);
		if (!keep)
			ptx_edit(in, PTX_REPLACE, node->first, node->end, (struct ptx_text){ 0 });
		else if (node->kind == PTX_FUNCTION)
			edit_function(in, ptx_symbols_find(&in->symbols, node->name), c);
	}
}

/* Adds the constants that hold the addresses and the probes' own top level, after the module's header. */
static void add_prelude(struct ptx_splice *in, const char *prelude, size_t size)
{
	const struct ptx_module *m = in->m;
	struct ptx_text text = { 0 };
	uint32_t at = PTX_NONE;

	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next)
		if (at == PTX_NONE && m->nodes[c].kind == PTX_DIRECTIVE &&
		    ptx_word_is(in, m->nodes[c].name, ".address_size"))
			at = m->nodes[c].end;
	if (at == PTX_NONE) {
		ptx_refuse(in, "its PTX has no .address_size");
		return;
	}
	ptx_declare_lane_count(in, &text);
	for (uint32_t i = 0; i < in->nbindings; i++)
		ptx_addf(&text, &in->err, "\n.visible .const .align 8 .u64 " CUDA_BIND_PREFIX "%u;", i);
	ptx_add(&text, &in->err, "\n", 1);
	ptx_add(&text, &in->err, prelude, size);
	ptx_add(&text, &in->err, "\n", 1);
	ptx_edit(in, PTX_INSERT, at, 0, text);
}

static void list_bindings(struct ptx_splice *in, struct cuda_twin *twin)
{
	twin->bindings = calloc(in->nbindings + 1, sizeof(*twin->bindings));
	if (!twin->bindings) {
		in->err = -ENOMEM;
		return;
	}
	twin->nbindings = in->nbindings;
	for (uint32_t i = 0; i < in->symbols.n; i++) {
		const struct ptx_symbol *symbol = &in->symbols.symbols[i];
		uint32_t len = in->m->tokens[symbol->name].len;

		if (symbol->binding == PTX_NONE)
			continue;
		if (len >= sizeof(*twin->bindings))
			ptx_refuse(in, "the name of a variable is longer than 255 characters");
		else
			memcpy(twin->bindings[symbol->binding], ptx_token_text(in->m, symbol->name), len);
	}
}

/* Refuses probes that end threads if block ends are counted, since all lanes of a block must pass the counter. */
static void check_thread_ends(struct ptx_splice *in)
{
	for (uint32_t i = 0; in->counts_exits && i < in->at.job->nsites; i++)
		if (in->probes[i].ends_thread)
			ptx_refuse(in, "a program of gpu/%s/ ends threads (helper 507), so gpu/block_end/ cannot count "
				       "the threads that leave",
				   gpubpf_place_kind(in->at.job->sites[i].site)->name);
}

static void check_shared(struct ptx_splice *in)
{
	if (in->counts_exits && in->shared_size_token)
		ptx_refuse(in, "it reads how much shared memory it has (PTX line %u), and gpu/block_end/ adds some",
			   in->m->tokens[in->shared_size_token].line);
}

#define MAX_SHORT_INSNS 256 /* instructions; in a kernel this short, reading a special register once more costs much */

bool ptx_is_short(const struct ptx_splice *in)
{
	uint32_t n = 0;

	PTX_FOR_EACH_NODE(in->m, in->kernel_node, node)
		n += in->m->nodes[node].kind == PTX_INSN;
	return n <= MAX_SHORT_INSNS;
}

/* Appends the module's text with the edits applied to `out`, then frees the edits. */
static void print_edits(struct ptx_splice *in, struct ptx_text *out)
{
	char *text = NULL;
	size_t size = 0;

	if (!in->err)
		in->err = ptx_print(in->m, in->edits, in->nedits, &text, &size);
	if (!in->err)
		ptx_add(out, &in->err, text, size);
	free(text);
	for (size_t i = 0; i < in->nedits; i++)
		if (in->edits[i].size)
			free((char *)in->edits[i].text);
	in->nedits = 0;
}

/* Returns true if the kernel can have a form for one-dimensional launches. A launch may omit the block size that
 * .reqntid requires, so the kernel's y and z sizes must be 1. With .blocksareclusters the launch's grid counts
 * clusters. */
static bool can_be_flat(const struct ptx_splice *in)
{
	const struct ptx_node *kernel = &in->m->nodes[in->kernel_node];
	uint32_t body = in->m->nodes[ptx_child(in->m, in->kernel_node, PTX_BLOCK, 0)].first;

	for (uint32_t t = kernel->name; t < body; t++) {
		if (ptx_word_is(in, t, ".blocksareclusters"))
			return false;
		if (!ptx_word_is(in, t, ".reqntid"))
			continue;
		for (uint32_t size = t + 3; ptx_word_is(in, size - 1, ","); size += 2)
			if (!ptx_word_is(in, size, "1"))
				return false;
	}
	return true;
}

/* Appends the second form of the kernel, for one-dimensional launches. */
static void add_flat(struct ptx_splice *in, const struct cuda_probe *probes, struct ptx_text *out)
{
	in->flat = true;
	in->probes = probes;
	in->at = (struct gpubpf_inserting){ .job = in->at.job, .kernel = in->kernel };
	in->exits = in->probed_exits = 0;
	ptx_addf(out, &in->err, "\n"); /* the text may end in a comment */
	drop_unneeded(in);
	print_edits(in, out);
}

int cuda_inject(const struct ptx_module *module, const struct gpubpf_lower_job *job, const struct cuda_probes *probes,
		struct cuda_twin *twin, struct gpubpf_diag *diag)
{
	uint32_t own = cuda_ptx_version(module);
	const char *kernel = job->sites[0].kernel;
	struct ptx_splice in = { .version = probes->version > own ? probes->version : own, .m = module, .kernel = kernel,
				 .probes = probes->of_sites, .at = { .job = job, .kernel = kernel }, .diag = diag,
				 .kernel_node = PTX_NONE };
	struct cuda_twin made = { 0 };
	struct ptx_text text = { 0 };

	in.counts_exits = requested_kinds(&in) & GPUBPF_SITE_BIT(BLOCK_END);
	in.err = ptx_symbols_init(&in.symbols, module);
	if (!in.err)
		ptx_find_closure(&in);
	if (!in.err)
		check_thread_ends(&in);
	if (!in.err && in.counts_exits && ptx_can_sync_before_exit(&in)) {
		in.meets = true;
		in.counts_exits = false;
	}
	if (!in.err)
		check_shared(&in);
	if (!in.err)
		list_bindings(&in, &made);
	if (!in.err)
		add_prelude(&in, probes->prelude, probes->prelude_size);
	if (!in.err)
		drop_unneeded(&in);
	if (!in.err)
		in.err = gpubpf_check_all_inserted(&in.at, diag);
	print_edits(&in, &text);
	if (!in.err && probes->flat && ptx_is_short(&in) && can_be_flat(&in))
		add_flat(&in, probes->flat, &text);
	made.text = text.data;
	made.size = text.size;
	free(in.edits);
	free(in.placed);
	ptx_symbols_finish(&in.symbols);
	if (in.err)
		cuda_twin_finish(&made);
	else
		*twin = made;
	return in.err;
}

void cuda_twin_finish(struct cuda_twin *twin)
{
	free(twin->text);
	free(twin->bindings);
	*twin = (struct cuda_twin){ 0 };
}
