/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: edits the directives at a module's top, PTX version and architecture.
 * Before: each of several linked modules has its own directives.
 * After: the twin has one of each; its version is the probes' if that is later.
 * Requires: in->version (backends/cuda/ptx/passes/splice.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edit.h"

static uint32_t directive_version(const struct ptx_module *m, const struct ptx_node *node)
{
	unsigned major = 0, minor = 0;
	char buf[16] = "";
	uint32_t len = m->tokens[node->name + 1].len;

	memcpy(buf, ptx_token_text(m, node->name + 1), len < sizeof(buf) ? len : sizeof(buf) - 1);
	sscanf(buf, "%u.%u", &major, &minor);
	return major * 100 + minor;
}

uint32_t cuda_ptx_version(const struct ptx_module *m)
{
	uint32_t version = 0;

	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next)
		if (m->nodes[c].kind == PTX_DIRECTIVE && ptx_token_is(m, m->nodes[c].name, ".version")) {
			uint32_t stated = directive_version(m, &m->nodes[c]);

			version = stated > version ? stated : version;
		}
	return version;
}

uint32_t cuda_ptx_target(const struct ptx_module *m)
{
	uint32_t target = PTX_NONE, best = 0;

	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next) {
		uint32_t name = m->nodes[c].name, sm = 0;

		if (m->nodes[c].kind != PTX_DIRECTIVE || !ptx_token_is(m, name, ".target"))
			continue;
		if (m->tokens[name + 1].len > 3)
			sm = strtoul(ptx_token_text(m, name + 1) + 3, NULL, 10);
		if (target == PTX_NONE || sm > best) {
			target = name + 1;
			best = sm;
		}
	}
	return target;
}

/* Returns true for the first of equal directives, since each of several linked modules has its own. */
static bool is_first(const struct ptx_splice *in, const struct ptx_node *node)
{
	const struct ptx_module *m = in->m;

	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next)
		if (m->nodes[c].kind == PTX_DIRECTIVE &&
		    !strncmp(ptx_token_text(m, m->nodes[c].name), ptx_token_text(m, node->name),
			     m->tokens[node->name].len))
			return &m->nodes[c] == node;
	return false;
}

static void edit_header(struct ptx_splice *in, const struct ptx_node *node)
{
	struct ptx_text text = { 0 };
	uint32_t target = cuda_ptx_target(in->m);

	if (ptx_word_is(in, node->name, ".version") && directive_version(in->m, node) < in->version) {
		ptx_addf(&text, &in->err, "%u.%u", in->version / 100, in->version % 100);
		ptx_edit(in, PTX_REPLACE, node->name + 1, node->name + 2, text);
	}
	if (ptx_word_is(in, node->name, ".target") && target != node->name + 1) {
		ptx_add(&text, &in->err, ptx_token_text(in->m, target), in->m->tokens[target].len);
		ptx_edit(in, PTX_REPLACE, node->name + 1, node->name + 2, text);
	}
	for (uint32_t t = node->first; t < node->end; t++)
		if (ptx_word_is(in, t, "debug")) /* the twin has no debug information */
			ptx_edit(in, PTX_REPLACE, t - 1, t + 1, (struct ptx_text){ 0 });
}

bool ptx_edit_directive(struct ptx_splice *in, const struct ptx_node *node)
{
	if (!(ptx_word_is(in, node->name, ".version") || ptx_word_is(in, node->name, ".target") ||
	      ptx_word_is(in, node->name, ".address_size")) || !is_first(in, node))
		return false;
	edit_header(in, node);
	return true;
}
