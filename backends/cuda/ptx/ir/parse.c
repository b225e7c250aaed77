/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: builds a tree from PTX tokens (PTX ISA chapters 4, 5, 7, 10 and 11).
 * Before: the text is split into tokens (ptx_lex()).
 * After: each node has a range of tokens, and these ranges cover the whole text. The labels are indexed.
 * Requires: blocks nested at most PTX_DEPTH_MAX deep.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/wire/name.h"
#include "lex.h"
#include "scope.h"

struct parser {
	struct ptx_module *m;
	struct gpubpf_diag *diag;
	uint32_t at;    /* the current token */
	uint32_t room;  /* allocated nodes */
	uint32_t *last; /* [node]: last child of the node, so that appending a child takes constant time */
	int err;
};

bool ptx_token_is(const struct ptx_module *m, uint32_t token, const char *text)
{
	const struct ptx_token *t = &m->tokens[token];

	return t->kind != PTX_END && t->len == strlen(text) && !memcmp(m->text + t->off, text, t->len);
}

bool ptx_token_named(const struct ptx_module *m, uint32_t token, const char *name)
{
	char shown[GPUBPF_NAME_SIZE];

	if (m->tokens[token].len <= GPUBPF_SHORT_NAME)
		return ptx_token_is(m, token, name);
	gpubpf_name_short(ptx_token_text(m, token), m->tokens[token].len, shown);
	return !strcmp(shown, name);
}

static bool is_token(const struct parser *p, const char *text)
{
	return ptx_token_is(p->m, p->at, text);
}

static uint8_t kind(const struct parser *p)
{
	return p->m->tokens[p->at].kind;
}

static bool is_punct(const struct parser *p, char c)
{
	const struct ptx_token *t = &p->m->tokens[p->at];

	return t->kind == PTX_PUNCT && p->m->text[t->off] == c;
}

/*
 * Reports an error, unless an earlier one was reported. Moves the parser to the end of the text, so that every loop
 * stops.
 */
static void fail(struct parser *p, const char *what)
{
	const struct ptx_token *t = &p->m->tokens[p->at];

	if (!p->err)
		p->err = gpubpf_diag_set(p->diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "PTX line %u: %s, not '%.*s'", t->line,
					 what, t->len > 40 ? 40 : (int)t->len, p->m->text + t->off);
	p->at = p->m->ntokens - 1;
}

/* Returns true after an error or at the end of the text. Every loop below then ends. */
static bool is_stopped(const struct parser *p)
{
	return p->err || kind(p) == PTX_END;
}

static uint32_t advance(struct parser *p)
{
	if (!is_stopped(p))
		return p->at++;
	fail(p, "more text is expected");
	return p->at;
}

static void expect(struct parser *p, char c)
{
	char what[] = "' ' is expected";

	what[1] = c;
	if (is_punct(p, c))
		p->at++;
	else
		fail(p, what);
}

static uint32_t open_node(struct parser *p, uint32_t parent, enum ptx_node_kind kind)
{
	struct ptx_module *m = p->m;
	uint32_t node = m->nnodes;

	if (p->err)
		return 0;
	if (node == p->room) {
		uint32_t room = p->room ? 2 * p->room : 256;
		struct ptx_node *nodes = realloc(m->nodes, room * sizeof(*nodes));
		uint32_t *last;

		if (nodes)
			m->nodes = nodes;
		last = nodes ? realloc(p->last, room * sizeof(*last)) : NULL;
		if (!last) {
			p->err = -ENOMEM;
			p->at = m->ntokens - 1;
			return 0;
		}
		p->last = last;
		p->room = room;
	}
	m->nnodes++;
	m->nodes[node] = (struct ptx_node){
		.kind = kind,
		.first = p->at,
		.end = p->at,
		.name = PTX_NONE,
		.guard = PTX_NONE,
		.operands = PTX_NONE,
		.parent = parent,
		.child = PTX_NONE,
		.next = PTX_NONE,
	};
	p->last[node] = PTX_NONE;
	if (parent == PTX_NONE)
		return node;
	if (p->last[parent] == PTX_NONE)
		m->nodes[parent].child = node;
	else
		m->nodes[p->last[parent]].next = node;
	p->last[parent] = node;
	return node;
}

static void close_node(struct parser *p, uint32_t node)
{
	if (!p->err)
		p->m->nodes[node].end = p->at;
}

/* Skips all tokens up to and including the next ';' outside of brackets. */
static void skip_statement(struct parser *p)
{
	int depth = 0;

	while (!is_stopped(p)) {
		if (is_punct(p, ';') && !depth)
			break;
		if (is_punct(p, '{') || is_punct(p, '(') || is_punct(p, '['))
			depth++;
		else if ((is_punct(p, '}') || is_punct(p, ')') || is_punct(p, ']')) && --depth < 0)
			fail(p, "';' is expected");
		advance(p);
	}
	expect(p, ';');
}

static void skip_balanced(struct parser *p, char open, char close)
{
	int depth = 0;

	expect(p, open);
	while (!is_stopped(p) && (depth || !is_punct(p, close))) {
		depth += is_punct(p, open) ? 1 : is_punct(p, close) ? -1 : 0;
		advance(p);
	}
	expect(p, close);
}

static void skip_numbers(struct parser *p)
{
	while (kind(p) == PTX_NUMBER) {
		advance(p);
		if (is_punct(p, ',') && p->m->tokens[p->at + 1].kind == PTX_NUMBER)
			advance(p);
	}
}

static bool is_space(const struct parser *p)
{
	static const char *const spaces[] = { ".reg",   ".sreg",  ".const",  ".global",
					      ".local", ".param", ".shared", ".tex" };

	for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++)
		if (is_token(p, spaces[i]))
			return true;
	return false;
}

static bool is_linkage(const struct parser *p)
{
	return is_token(p, ".extern") || is_token(p, ".visible") || is_token(p, ".weak") || is_token(p, ".common") ||
	       is_token(p, ".internal");
}

/*
 * Skips the modifiers of a declaration up to the name, such as .align 8 .b8 .attribute(.managed) .ptr .global .v4 .f32
 */
static void skip_declarator(struct parser *p)
{
	while (!is_stopped(p) && (kind(p) == PTX_DOT || kind(p) == PTX_NUMBER || is_punct(p, '('))) {
		if (is_punct(p, '('))
			skip_balanced(p, '(', ')');
		else
			advance(p);
	}
}

static void parse_variable(struct parser *p, uint32_t parent)
{
	uint32_t node = open_node(p, parent, PTX_VARIABLE);

	skip_declarator(p);
	if (kind(p) != PTX_WORD)
		fail(p, "the name of a variable is expected");
	if (!p->err)
		p->m->nodes[node].name = p->at;
	skip_statement(p);
	close_node(p, node);
}

/* Skips .loc file line column [, function_name label [+ n] , inlined_at file line column] (PTX ISA 11.5.2). */
static void skip_loc(struct parser *p)
{
	for (int i = 0; i < 3; i++)
		if (kind(p) == PTX_NUMBER)
			advance(p);
		else
			fail(p, "a number is expected");
	while (is_punct(p, ',')) {
		advance(p);
		if (kind(p) != PTX_WORD)
			fail(p, "function_name or inlined_at is expected");
		while (!is_stopped(p) && (kind(p) == PTX_WORD || kind(p) == PTX_NUMBER || is_punct(p, '+'))) {
			/* stop at the end of the line, because the next statement may begin with a word too */
			if (p->m->tokens[p->at].line != p->m->tokens[p->at - 1].line)
				return;
			advance(p);
		}
	}
}

static void parse_directive(struct parser *p, uint32_t parent)
{
	uint32_t node = open_node(p, parent, PTX_DIRECTIVE);

	if (!p->err)
		p->m->nodes[node].name = p->at;
	if (is_token(p, ".version") || is_token(p, ".address_size")) {
		advance(p);
		advance(p);
	} else if (is_token(p, ".target")) {
		do {
			advance(p);
			advance(p);
		} while (!is_stopped(p) && is_punct(p, ','));
	} else if (is_token(p, ".file")) {
		advance(p);
		advance(p);
		advance(p);
		while (is_punct(p, ',')) {
			advance(p);
			advance(p);
		}
	} else if (is_token(p, ".loc")) {
		advance(p);
		skip_loc(p);
	} else {
		skip_statement(p);
	}
	close_node(p, node);
}

/* Parses .section name { data } (PTX ISA 11.5.4). The data directives are skipped. */
static void parse_section(struct parser *p, uint32_t parent)
{
	uint32_t node = open_node(p, parent, PTX_SECTION);

	advance(p);
	if (!p->err)
		p->m->nodes[node].name = p->at;
	advance(p);
	skip_balanced(p, '{', '}');
	close_node(p, node);
}

static void parse_params(struct parser *p, uint32_t function, bool result)
{
	expect(p, '(');
	while (!is_stopped(p) && !is_punct(p, ')')) {
		uint32_t node = open_node(p, function, PTX_PARAM);

		if (!p->err)
			p->m->nodes[node].result = result;
		skip_declarator(p);
		if (kind(p) != PTX_WORD)
			fail(p, "the name of a parameter is expected");
		if (!p->err)
			p->m->nodes[node].name = p->at;
		advance(p);
		while (is_punct(p, '[') || is_punct(p, '<'))
			skip_balanced(p, is_punct(p, '[') ? '[' : '<', is_punct(p, '[') ? ']' : '>');
		close_node(p, node);
		if (!is_punct(p, ')'))
			expect(p, ',');
	}
	expect(p, ')');
}

/*
 * Turns a mov into a mark if its destination is a register with the prefix PTX_MARK_PREFIX. The mark's name follows the
 * prefix. No instruction reads such a register.
 */
static void find_mark(struct parser *p, uint32_t node)
{
	struct ptx_node *n = &p->m->nodes[node];
	uint32_t name = n->operands;

	if (n->guard != PTX_NONE || !ptx_token_is(p->m, n->name, "mov") || n->end < name + 4 ||
	    !ptx_token_is(p->m, name + 1, ",") || p->m->tokens[name].len <= sizeof(PTX_MARK_PREFIX) - 1 ||
	    memcmp(ptx_token_text(p->m, name), PTX_MARK_PREFIX, sizeof(PTX_MARK_PREFIX) - 1))
		return;
	n->kind = PTX_MARK;
	n->name = name;
	n->operands = name + 2;
}

/* Parses an instruction (PTX ISA 8.1 to 8.4): the opcode with its modifiers, then the operands. */
static void parse_insn(struct parser *p, uint32_t parent)
{
	uint32_t node = open_node(p, parent, PTX_INSN), guard = PTX_NONE;

	if (is_punct(p, '@')) {
		advance(p);
		if (is_punct(p, '!'))
			advance(p);
		guard = advance(p);
	}
	if (kind(p) != PTX_WORD)
		fail(p, "an instruction is expected");
	if (!p->err) {
		p->m->nodes[node].name = p->at;
		p->m->nodes[node].guard = guard;
	}
	advance(p);
	while (kind(p) == PTX_DOT)
		advance(p);
	if (!p->err)
		p->m->nodes[node].operands = p->at;
	skip_statement(p);
	close_node(p, node);
	if (!p->err)
		find_mark(p, node);
}

static void parse_label(struct parser *p, uint32_t parent)
{
	uint32_t node = open_node(p, parent, PTX_LABEL);

	if (!p->err)
		p->m->nodes[node].name = p->at;
	advance(p);
	expect(p, ':');
	close_node(p, node);
}

static bool at_label(const struct parser *p)
{
	const struct ptx_token *next = &p->m->tokens[p->at + 1];

	return kind(p) == PTX_WORD && next->kind == PTX_PUNCT && p->m->text[next->off] == ':';
}

/* Parses a block and the blocks in it. It does not recurse, because the input decides how deep blocks are nested. */
static void parse_block(struct parser *p, uint32_t parent)
{
	uint32_t node = open_node(p, parent, PTX_BLOCK), depth = 1;

	expect(p, '{');
	while (!is_stopped(p) && depth) {
		if (is_punct(p, '{')) {
			node = open_node(p, node, PTX_BLOCK);
			if (++depth > PTX_DEPTH_MAX)
				fail(p, "blocks are nested too deeply; a statement is expected");
			advance(p);
		} else if (is_punct(p, '}')) {
			advance(p);
			close_node(p, node);
			node = p->m->nodes[node].parent;
			depth--;
		} else if (is_space(p)) {
			parse_variable(p, node);
		} else if (kind(p) == PTX_DOT) {
			parse_directive(p, node);
		} else if (at_label(p)) {
			parse_label(p, node);
		} else {
			parse_insn(p, node);
		}
	}
	if (depth)
		fail(p, "'}' is expected");
}

/*
 * Parses a function: linkage (PTX ISA 5.1), .func (7.1) or .entry (11.1), performance directives (11.4), and the body
 * if there is one.
 */
static void parse_function(struct parser *p, uint32_t parent, uint32_t first)
{
	uint32_t node = open_node(p, parent, PTX_FUNCTION);

	if (!p->err) {
		p->m->nodes[node].first = first;
		p->m->nodes[node].entry = is_token(p, ".entry");
	}
	advance(p);
	while (is_token(p, ".attribute")) {
		advance(p);
		skip_balanced(p, '(', ')');
	}
	if (is_punct(p, '('))
		parse_params(p, node, true);
	if (kind(p) != PTX_WORD)
		fail(p, "the name of a function is expected");
	if (!p->err)
		p->m->nodes[node].name = p->at;
	advance(p);
	if (is_punct(p, '('))
		parse_params(p, node, false);
	while (!is_stopped(p) && !is_punct(p, '{') && !is_punct(p, ';')) {
		if (is_token(p, ".pragma")) {
			skip_statement(p);
		} else if (kind(p) == PTX_DOT) {
			advance(p);
			skip_numbers(p);
		} else {
			fail(p, "a directive or a body is expected");
		}
	}
	if (is_punct(p, ';'))
		advance(p);
	else
		parse_block(p, node);
	close_node(p, node);
}

static void parse_top(struct parser *p)
{
	uint32_t first = p->at, ahead = p->at;

	while (is_linkage(p) || is_token(p, ".attribute")) {
		bool attribute = is_token(p, ".attribute");

		advance(p);
		if (attribute)
			skip_balanced(p, '(', ')');
	}
	if (is_token(p, ".func") || is_token(p, ".entry")) {
		parse_function(p, 0, first);
		return;
	}
	ahead = p->at;
	p->at = first;
	if (is_token(p, ".section"))
		parse_section(p, 0);
	else if (ptx_token_is(p->m, ahead, ".global") || ptx_token_is(p->m, ahead, ".const") ||
		 ptx_token_is(p->m, ahead, ".shared") || ptx_token_is(p->m, ahead, ".tex") ||
		 ptx_token_is(p->m, ahead, ".local") || ptx_token_is(p->m, ahead, ".param") ||
		 ptx_token_is(p->m, ahead, ".reg"))
		parse_variable(p, 0);
	else if (kind(p) == PTX_DOT)
		parse_directive(p, 0);
	else if (is_punct(p, ';'))
		skip_statement(p);
	else
		fail(p, "a directive is expected");
}

int ptx_parse(const char *text, size_t size, struct ptx_module *module, struct gpubpf_diag *diag)
{
	struct ptx_module m = { .text = text, .size = size };
	struct parser p = { .m = &m, .diag = diag };
	int err = ptx_lex(text, size, &m.tokens, &m.ntokens, diag);

	if (err < 0)
		return err;
	open_node(&p, PTX_NONE, PTX_MODULE);
	while (!is_stopped(&p))
		parse_top(&p);
	close_node(&p, 0);
	free(p.last);
	if (!p.err)
		p.err = ptx_index_labels(&m);
	if (p.err < 0) {
		ptx_finish(&m);
		return p.err;
	}
	*module = m;
	return 0;
}

void ptx_finish(struct ptx_module *module)
{
	free(module->tokens);
	free(module->nodes);
	free(module->labels);
	*module = (struct ptx_module){ 0 };
}

uint32_t ptx_child(const struct ptx_module *m, uint32_t node, enum ptx_node_kind kind, uint32_t i)
{
	for (uint32_t c = m->nodes[node].child; c != PTX_NONE; c = m->nodes[c].next)
		if (m->nodes[c].kind == kind && !i--)
			return c;
	return PTX_NONE;
}

uint32_t ptx_find_function(const struct ptx_module *m, const char *name)
{
	uint32_t found = PTX_NONE;

	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next) {
		if (m->nodes[c].kind != PTX_FUNCTION || !ptx_token_named(m, m->nodes[c].name, name))
			continue;
		if (ptx_child(m, c, PTX_BLOCK, 0) != PTX_NONE)
			return c;
		if (found == PTX_NONE)
			found = c;
	}
	return found;
}
