/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_names(const char *a, size_t na, const char *b, size_t nb)
{
	int order = memcmp(a, b, na < nb ? na : nb);

	return order ? order : (na > nb) - (na < nb);
}

/*
 * Ranks a symbol: strong definition, weak definition, declaration. The linker takes the first of several weak
 * definitions (PTX ISA 11.6.2).
 */
static int rank_definition(const struct ptx_symbol *symbol)
{
	return !symbol->defined ? 0 : symbol->weak ? 1 : 2;
}

/* sorts symbols by name, then by descending rank */
static int by_name(const void *a, const void *b, void *arg)
{
	const struct ptx_symbol *x = a, *y = b;
	const struct ptx_module *m = arg;
	int order = compare_names(ptx_token_text(m, x->name), m->tokens[x->name].len, ptx_token_text(m, y->name),
				  m->tokens[y->name].len);

	if (!order)
		order = rank_definition(y) - rank_definition(x);
	return order ? order : (x->name > y->name) - (x->name < y->name);
}

static void classify(const struct ptx_module *m, struct ptx_symbol *symbol)
{
	const struct ptx_node *node = &m->nodes[symbol->node];
	bool external = false;

	for (uint32_t t = node->first; t < node->name; t++) {
		external |= ptx_token_is(m, t, ".extern");
		symbol->weak |= ptx_token_is(m, t, ".weak") || ptx_token_is(m, t, ".common");
		symbol->visible |= ptx_token_is(m, t, ".visible");
		symbol->shared |= ptx_token_is(m, t, ".shared");
		symbol->constant |= ptx_token_is(m, t, ".const");
		symbol->handle |= ptx_token_is(m, t, ".texref") || ptx_token_is(m, t, ".samplerref") ||
				  ptx_token_is(m, t, ".surfref") || ptx_token_is(m, t, ".tex");
	}
	symbol->function = node->kind == PTX_FUNCTION;
	symbol->defined = symbol->function ? ptx_child(m, symbol->node, PTX_BLOCK, 0) != PTX_NONE : !external;
}

/* The callee follows the list of results, which is optional. */
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

/*
 * Returns true if two definitions of a name conflict. Definitions in linked modules do not conflict if one is weak or
 * if they are private to their modules.
 */
static bool is_conflict(const struct ptx_symbol *first, const struct ptx_symbol *other)
{
	return other->defined && (!other->weak || !(first->weak || first->visible));
}

/* Returns the index of the first symbol whose name is not less than `name` in the sort order. */
static uint32_t lower_bound(const struct ptx_symbols *symbols, const char *name, size_t size)
{
	const struct ptx_module *m = symbols->module;
	uint32_t low = 0, high = symbols->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2, token = symbols->symbols[mid].name;

		if (compare_names(ptx_token_text(m, token), m->tokens[token].len, name, size) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * Marks the symbols that a register range such as r<8> in a function hides. All their names begin with the range's
 * name, so they are adjacent in the table.
 */
static void mark_hidden_by_range(struct ptx_symbols *symbols, uint32_t declared)
{
	const struct ptx_module *m = symbols->module;
	const char *name = ptx_token_text(m, declared);
	uint32_t len = m->tokens[declared].len;

	for (uint32_t i = lower_bound(symbols, name, len); i < symbols->n; i++) {
		uint32_t token = symbols->symbols[i].name;

		if (m->tokens[token].len < len || memcmp(ptx_token_text(m, token), name, len))
			break;
		symbols->symbols[i].hidden |= ptx_name_covers(m, declared, token);
	}
}

/* Marks the symbols that a declaration in a function hides because it declares the same name. */
static void mark_hidden(struct ptx_symbols *symbols, uint32_t node)
{
	const struct ptx_module *m = symbols->module;
	uint8_t kind = m->nodes[node].kind;

	if (!m->nodes[node].parent || (kind != PTX_VARIABLE && kind != PTX_PARAM && kind != PTX_LABEL))
		return;
	for (uint32_t t = m->nodes[node].name; t != PTX_NONE; t = ptx_next_name(m, node, t)) {
		struct ptx_symbol *symbol = ptx_symbols_find(symbols, t);

		if (symbol)
			symbol->hidden = true;
		if (ptx_name_range(m, t))
			mark_hidden_by_range(symbols, t);
	}
}

int ptx_symbols_init(struct ptx_symbols *symbols, const struct ptx_module *module)
{
	const struct ptx_node *nodes = module->nodes;
	uint32_t n = 0, nunique = 0;
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

		b = nunique ? &module->tokens[all[nunique - 1].name] : NULL;
		if (b && !compare_names(module->text + a->off, a->len, module->text + b->off, b->len)) {
			all[nunique - 1].is_ambiguous |= is_conflict(&all[nunique - 1], &all[i]);
			continue;
		}
		all[nunique++] = all[i];
	}
	*symbols = (struct ptx_symbols){ module, all, nunique };
	for (uint32_t i = 1; i < module->nnodes; i++)
		mark_hidden(symbols, i);
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
	uint32_t i = lower_bound(symbols, name, size), token = i < symbols->n ? symbols->symbols[i].name : 0;

	return i < symbols->n && m->tokens[token].len == size && !memcmp(ptx_token_text(m, token), name, size) ?
		       &symbols->symbols[i] :
		       NULL;
}

struct ptx_symbol *ptx_symbols_find(const struct ptx_symbols *symbols, uint32_t token)
{
	const struct ptx_token *t = &symbols->module->tokens[token];

	if (t->kind != PTX_WORD)
		return NULL;
	return ptx_symbols_find_name(symbols, symbols->module->text + t->off, t->len);
}

struct ptx_symbol *ptx_symbols_find_at(const struct ptx_symbols *symbols, uint32_t node, uint32_t token)
{
	struct ptx_symbol *symbol = ptx_symbols_find(symbols, token);

	return symbol && symbol->hidden && ptx_declaration(symbols->module, node, token) != PTX_NONE ? NULL : symbol;
}
