/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: edits the directives .version, .target and .address_size at a module's top.
 * Before: if the module is linked from several, each of these has its own directives.
 * After: the twin has one of each directive. Its .version is the probes' version if that is later.
 * Requires: in->version (splice.c).
 */
#include <string.h>

#include "edit.h"

/* Returns true for the first directive of its kind. Each of several linked modules has one. */
static bool is_first(const struct ptx_splice *in, const struct ptx_node *node)
{
	const struct ptx_module *m = in->m;

	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next)
		if (m->nodes[c].kind == PTX_DIRECTIVE &&
		    !strncmp(ptx_token_text(m, m->nodes[c].name), ptx_token_text(m, node->name), m->tokens[node->name].len))
			return &m->nodes[c] == node;
	return false;
}

static void edit_header(struct ptx_splice *in, const struct ptx_node *node)
{
	struct ptx_text text = { 0 };
	uint32_t target = cuda_ptx_target(in->m);

	if (ptx_word_is(in, node->name, ".version") && ptx_directive_version(in->m, node) < in->version) {
		ptx_addf(&text, &in->err, "%u.%u", in->version / 100, in->version % 100);
		ptx_edit(in, PTX_REPLACE, node->name + 1, node->name + 2, text);
	}
	if (ptx_word_is(in, node->name, ".target") && target != node->name + 1) {
		ptx_add(&text, &in->err, ptx_token_text(in->m, target), in->m->tokens[target].len);
		ptx_edit(in, PTX_REPLACE, node->name + 1, node->name + 2, text);
	}
	for (uint32_t t = node->first; t < node->end; t++)
		if (ptx_word_is(in, t, "debug")) /* remove this option, because the twin has no debug information */
			ptx_edit(in, PTX_REPLACE, t - 1, t + 1, (struct ptx_text){ 0 });
}

bool ptx_edit_directive(struct ptx_splice *in, const struct ptx_node *node)
{
	if (!(ptx_word_is(in, node->name, ".version") || ptx_word_is(in, node->name, ".target") ||
	      ptx_word_is(in, node->name, ".address_size")) ||
	    !is_first(in, node))
		return false;
	edit_header(in, node);
	return true;
}
