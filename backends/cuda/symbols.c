/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare(const char *a, size_t na, const char *b, size_t nb)
{
	int order = memcmp(a, b, na < nb ? na : nb);

	return order ? order : (na > nb) - (na < nb);
}

/* by name, definitions before declarations */
static int by_name(const void *a, const void *b, void *arg)
{
	const struct ptx_symbol *x = a, *y = b;
	const struct ptx_module *m = arg;
	int order = compare(ptx_token_text(m, x->name), m->tokens[x->name].len, ptx_token_text(m, y->name),
			    m->tokens[y->name].len);

	return order ? order : (int)y->defined - (int)x->defined;
}

static void classify(const struct ptx_module *m, struct ptx_symbol *symbol)
{
	const struct ptx_node *node = &m->nodes[symbol->node];

	symbol->function = node->kind == PTX_FUNCTION;
	if (symbol->function) {
		symbol->defined = ptx_child(m, symbol->node, PTX_BLOCK, 0) != PTX_NONE;
		return;
	}
	symbol->defined = true;
	for (uint32_t t = node->first; t < node->name; t++) {
		symbol->defined &= !ptx_token_is(m, t, ".extern");
		symbol->shared |= ptx_token_is(m, t, ".shared");
		symbol->constant |= ptx_token_is(m, t, ".const");
		symbol->handle |= ptx_token_is(m, t, ".texref") || ptx_token_is(m, t, ".samplerref") ||
				  ptx_token_is(m, t, ".surfref") || ptx_token_is(m, t, ".tex");
	}
}

uint32_t ptx_next_name(const struct ptx_module *m, uint32_t node, uint32_t token)
{
	uint32_t depth = 0;

	if (m->nodes[node].kind != PTX_VARIABLE)
		return PTX_NONE;
	for (uint32_t t = token + 1; t + 1 < m->nodes[node].end; t++) {
		if (ptx_token_is(m, t, "{") || ptx_token_is(m, t, "[") || ptx_token_is(m, t, "("))
			depth++;
		else if (ptx_token_is(m, t, "}") || ptx_token_is(m, t, "]") || ptx_token_is(m, t, ")"))
			depth--;
		else if (!depth && ptx_token_is(m, t, ",") && m->tokens[t + 1].kind == PTX_WORD)
			return t + 1;
	}
	return PTX_NONE;
}

/* It stands behind the list of results, if there is one. */
uint32_t ptx_callee(const struct ptx_module *m, const struct ptx_node *insn)
{
	uint32_t t = insn->operands;

	if (ptx_token_is(m, t, "(")) {
		while (t < insn->end && !ptx_token_is(m, t, ")"))
			t++;
		t++;
		if (ptx_token_is(m, t, ","))
			t++;
	}
	return t < insn->end ? t : insn->end - 1;
}

static bool is_symbol(const struct ptx_module *m, uint32_t node)
{
	return m->nodes[node].kind == PTX_FUNCTION || m->nodes[node].kind == PTX_VARIABLE;
}

static bool is_weak(const struct ptx_module *m, const struct ptx_symbol *symbol)
{
	for (uint32_t t = m->nodes[symbol->node].first; t < symbol->name; t++)
		if (ptx_token_is(m, t, ".weak") || ptx_token_is(m, t, ".common"))
			return true;
	return false;
}

int ptx_symbols_init(struct ptx_symbols *symbols, const struct ptx_module *module)
{
	const struct ptx_node *nodes = module->nodes;
	uint32_t n = 0, kept = 0;
	struct ptx_symbol *all;

	for (uint32_t c = nodes[0].child; c != PTX_NONE; c = nodes[c].next)
		for (uint32_t t = is_symbol(module, c) ? nodes[c].name : PTX_NONE; t != PTX_NONE;
		     t = ptx_next_name(module, c, t))
			n++;
	all = calloc(n + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	n = 0;
	for (uint32_t c = nodes[0].child; c != PTX_NONE; c = nodes[c].next) {
		for (uint32_t t = is_symbol(module, c) ? nodes[c].name : PTX_NONE; t != PTX_NONE;
		     t = ptx_next_name(module, c, t)) {
			all[n] = (struct ptx_symbol){ .node = c, .name = t, .binding = PTX_NONE };
			classify(module, &all[n++]);
		}
	}
	qsort_r(all, n, sizeof(*all), by_name, (void *)module);
	for (uint32_t i = 0; i < n; i++) {
		const struct ptx_token *a = &module->tokens[all[i].name], *b;

		b = kept ? &module->tokens[all[kept - 1].name] : NULL;
		if (b && !compare(module->text + a->off, a->len, module->text + b->off, b->len)) {
			all[kept - 1].twice |= all[i].defined && !(is_weak(module, &all[i]) || is_weak(module, &all[kept - 1]));
			continue;
		}
		all[kept++] = all[i];
	}
	*symbols = (struct ptx_symbols){ module, all, kept };
	return 0;
}

void ptx_symbols_finish(struct ptx_symbols *symbols)
{
	free(symbols->symbols);
	symbols->symbols = NULL;
	symbols->n = 0;
}

struct ptx_symbol *ptx_symbols_find_name(const struct ptx_symbols *symbols, const char *name, size_t size)
{
	const struct ptx_module *m = symbols->module;
	uint32_t low = 0, high = symbols->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		struct ptx_symbol *symbol = &symbols->symbols[mid];
		int order = compare(name, size, ptx_token_text(m, symbol->name), m->tokens[symbol->name].len);

		if (!order)
			return symbol;
		if (order < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

struct ptx_symbol *ptx_symbols_find(const struct ptx_symbols *symbols, uint32_t token)
{
	const struct ptx_token *t = &symbols->module->tokens[token];

	if (t->kind != PTX_WORD)
		return NULL;
	return ptx_symbols_find_name(symbols, symbols->module->text + t->off, t->len);
}
