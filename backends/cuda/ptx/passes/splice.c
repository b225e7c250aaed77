/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: builds a twin's PTX from the kernel's module and the extracted probes.
 * Before: the module is parsed, and each site has a cuda_probe.
 * After: the text has the kernel, the functions that it calls, the probes at their places, and a constant for each
 * binding.
 * Requires: the symbols (backends/cuda/ptx/ir/symbols.c), which of them the kernel needs (closure.c), and the edits of
 * each function (edit_function.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/wire/twin_format.h"
#include "core/lower/dump.h"
#include "edit.h"

/*
 * Returns true if the twin has this node of a symbol: the definition, a node before the definition, or a node without a
 * body. Nodes with a body after the definition are dropped, because assemblers reject a second definition. The function
 * ptx_edit_function() turns a weak definition before the strong one into a declaration.
 */
static bool keeps_node(const struct ptx_splice *in, const struct ptx_symbol *symbol, uint32_t node)
{
	if (!symbol || !symbol->needed || !(symbol->function || symbol->shared))
		return false;
	if (!symbol->function || in->m->nodes[node].entry)
		return node == symbol->node;
	return node <= symbol->node || !symbol->defined;
}

/* Deletes the top-level nodes that the twin does not need, and edits the others. */
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
			ptx_edit_function(in, ptx_symbols_find(&in->symbols, node->name), c);
	}
}

/*
 * Adds top-level PTX after the module's header: constants for the addresses of the application's variables, and the
 * probes' prelude.
 */
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

/*
 * If exits of a block's lanes are counted, refuses probes that end threads, because such a thread would exit uncounted.
 */
static void check_thread_ends(struct ptx_splice *in)
{
	for (uint32_t i = 0; in->counts_exits && i < in->at.job->nsites; i++)
		if (in->probes[i].ends_thread)
			ptx_refuse(in,
				   "a program of gpu/%s/ ends threads (helper 507), so gpu/block_end/ cannot count "
				   "the threads that leave",
				   gpubpf_place_kind(in->at.job->sites[i].site)->name);
}

static void check_shared(struct ptx_splice *in)
{
	if (in->counts_exits && in->shared_size_token)
		ptx_refuse(in,
			   "it reads the size of its shared memory (PTX line %u), to which a program of gpu/block_end/ adds some",
			   in->m->tokens[in->shared_size_token].line);
}

/* Appends the module's text with the edits to `out`, then frees the edits. */
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

/*
 * Returns true if the kernel can have a variant for one-dimensional launches. The y and z sizes in .reqntid must be 1,
 * because a launch may omit the block size that .reqntid requires. With .blocksareclusters the grid of a launch counts
 * clusters, not blocks.
 */
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

/* Appends the kernel's variant for one-dimensional launches. */
static void add_flat(struct ptx_splice *in, const struct cuda_probe *probes, struct ptx_text *out)
{
	in->flat = true;
	in->probes = probes;
	in->at = (struct gpubpf_inserting){ .job = in->at.job, .kernel = in->kernel };
	in->exits = in->probed_exits = 0;
	ptx_addf(out, &in->err, "\n"); /* the text before may end in a // comment */
	drop_unneeded(in);
	print_edits(in, out);
}

int cuda_inject(const struct ptx_module *module, const struct gpubpf_lower_job *job, const struct cuda_probes *probes,
		struct cuda_twin *twin, struct gpubpf_diag *diag)
{
	uint32_t own = cuda_ptx_version(module);
	const char *kernel = job->sites[0].kernel;
	struct ptx_splice in = { .version = probes->version > own ? probes->version : own,
				 .m = module,
				 .kernel = kernel,
				 .probes = probes->by_site,
				 .at = { .job = job, .kernel = kernel },
				 .diag = diag,
				 .kernel_node = PTX_NONE };
	struct cuda_twin made = { 0 };
	struct ptx_text text = { 0 };

	in.counts_exits = ptx_requested_kinds(&in) & GPUBPF_SITE_BIT(BLOCK_END);
	in.err = ptx_symbols_init(&in.symbols, module);
	if (!in.err)
		ptx_find_closure(&in);
	if (!in.err)
		check_thread_ends(&in);
	if (!in.err && in.counts_exits && ptx_can_sync_before_exit(&in)) {
		in.syncs_before_exit = true;
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
	if (!in.err && gpubpf_dump_wants(job, "splice"))
		gpubpf_dump_set(job, text.data, text.size);
	if (!in.err && probes->flat && ptx_is_short(&in) && can_be_flat(&in))
		add_flat(&in, probes->flat, &text);
	if (!in.err && gpubpf_dump_wants(job, "flat"))
		gpubpf_dump_set(job, text.data, text.size);
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
