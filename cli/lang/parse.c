/* SPDX-License-Identifier: Apache-2.0 */
/* Parses statements, blocks and declarations; lang_parse() parses a whole program. */
#include "lang.h"

#include <errno.h>
#include <string.h>

static struct lang_node *statement(struct lang_parser *p);

/* End the scope of a block's variables. */
static void end_scope(struct lang_parser *p)
{
	for (struct lang_var *v = p->block->vars; v; v = v->next)
		if (v->scope >= p->depth)
			v->scope = UINT32_MAX;
}

static struct lang_node *block(struct lang_parser *p)
{
	struct lang_node *n = lang_node(p, LANG_N_BLOCK, p->lex.pos), **end = &n->list;

	lang_expect(p, LANG_T_LBRACE, "at the start of a block");
	lang_enter_nesting(p);
	while (p->lex.token != LANG_T_RBRACE && p->lex.token != LANG_T_END && !p->l->failed) {
		if (lang_accept(p, LANG_T_SEMICOLON))
			continue;
		*end = statement(p);
		end = &(*end)->next;
	}
	end_scope(p);
	p->depth--;
	if (p->lex.token == LANG_T_END)
		lang_fail(p->l, n->pos, "end it with }", "the block is not terminated");
	return n;
}

/* Parse a block up to its }, which the caller consumes, because the text after it depends on the context. */
static struct lang_node *inner_block(struct lang_parser *p)
{
	struct lang_node *n = block(p);

	lang_next(&p->lex);
	return n;
}

static struct lang_node *if_statement(struct lang_parser *p)
{
	struct lang_node *n = lang_node(p, LANG_N_IF, p->lex.pos);

	lang_enter_nesting(p);
	lang_next(&p->lex);
	n->a = lang_expression(p);
	n->b = inner_block(p);
	if (lang_word_is(p, "else")) {
		lang_next(&p->lex);
		n->c = lang_word_is(p, "if") ? if_statement(p) : inner_block(p);
	}
	p->depth--;
	return n;
}

static struct lang_node *unroll(struct lang_parser *p)
{
	struct lang_node *n = lang_node(p, LANG_N_UNROLL, p->lex.pos);

	lang_next(&p->lex);
	lang_expect(p, LANG_T_OPEN, "after unroll");
	n->value = p->lex.number;
	if (p->lex.token == LANG_T_NUMBER && (!n->value || n->value > LANG_UNROLL))
		lang_fail(p->l, p->lex.pos, "for ($i : 0..n) repeats without copies", "unroll() takes 1 to %u",
			  LANG_UNROLL);
	lang_expect(p, LANG_T_NUMBER, "in unroll()");
	lang_expect(p, LANG_T_CLOSE, "after the number");
	n->b = inner_block(p);
	return n;
}

static struct lang_node *for_statement(struct lang_parser *p)
{
	struct lang_node *n = lang_node(p, LANG_N_FOR, p->lex.pos), *name = lang_node(p, LANG_N_VAR, p->lex.pos);
	struct lang_var *end;
	bool open;

	lang_next(&p->lex);
	open = lang_accept(p, LANG_T_OPEN);
	name->text = p->lex.string;
	lang_expect(p, LANG_T_VAR, "after for");
	lang_expect(p, LANG_T_COLON, "after the variable");
	if (p->lex.token == LANG_T_MAP)
		lang_fail(p->l, p->lex.pos, "print(@x) prints all keys; for ($i : 0..10) counts",
			  "iteration over the keys of a map is not supported");
	n->a = lang_expression(p);
	lang_expect(p, LANG_T_RANGE, "between the bounds");
	n->c = lang_expression(p);
	if (open)
		lang_expect(p, LANG_T_CLOSE, "after the bounds");
	lang_enter_nesting(p);
	n->var = lang_variable(p, name->text, n->pos);
	end = lang_variable(p, "", n->pos); /* a hidden variable for the end of the range, which is computed
						   * once */
	if (n->var && end)
		n->var->type = end->type = (struct lang_type){ LANG_INT, true };
	n->b = inner_block(p);
	end_scope(p);
	p->depth--;
	return n;
}

/* Parse the type after `let $x:`. */
static void let_type(struct lang_parser *p, struct lang_type *type, uint32_t *bits)
{
	if (lang_word_is(p, "string"))
		type->base = LANG_NAME;
	else if (p->lex.token == LANG_T_WORD && lang_type_named(p->lex.string, bits, &type->is_signed))
		type->base = LANG_INT;
	else
		lang_fail(p->l, p->lex.pos, "types are uint64 and similar ones, and string",
			  "a variable cannot have "
			  "this type");
	lang_next(&p->lex);
}

/* Return the statement that sets a declared variable without initial value to 0 or "". Without a type there is none. */
static struct lang_node *initial_value(struct lang_parser *p, struct lang_node *set, enum lang_base base)
{
	if (base == LANG_VOID)
		return lang_node(p, LANG_N_BLOCK, set->pos);
	set->b = lang_node(p, base == LANG_NAME ? LANG_N_STRING : LANG_N_NUMBER, set->pos);
	set->b->type = base == LANG_NAME ? (struct lang_type){ LANG_TEXT } : (struct lang_type){ LANG_INT, true };
	set->b->text = "";
	set->b->literal = base == LANG_INT;
	return set;
}

/* Parse let $x; or let $x = 1; or let $x: uint8 = 1; */
static struct lang_node *let_statement(struct lang_parser *p)
{
	struct lang_node *set = lang_node(p, LANG_N_SET, p->lex.pos), *n = set;
	struct lang_type type = { LANG_VOID };
	uint32_t pos, bits = 0;

	lang_next(&p->lex);
	pos = p->lex.pos;
	for (struct lang_var *v = p->block->vars; v && p->lex.token == LANG_T_VAR; v = v->next)
		if (!strcmp(v->name, p->lex.string) && v->scope != UINT32_MAX)
			lang_fail(p->l, pos, "choose another name, or omit let", "%s is already defined", v->name);
	if (p->lex.token != LANG_T_VAR)
		lang_fail(p->l, pos, "let $x = 0;", "let expects a variable here");
	set->a = lang_node(p, LANG_N_VAR, pos);
	set->a->text = p->lex.string;
	lang_next(&p->lex);
	if (lang_accept(p, LANG_T_COLON))
		let_type(p, &type, &bits);
	set->pos = p->lex.pos;
	if (lang_accept(p, LANG_T_SET))
		set->b = lang_expression(p);
	else
		n = initial_value(p, set, type.base);
	set->a->var = lang_variable(p, set->a->text, pos);
	if (set->a->var) {
		set->a->var->type = type;
		set->a->var->bits = bits;
	}
	return n;
}

static struct lang_node *word_statement(struct lang_parser *p, enum lang_kind kind)
{
	struct lang_node *n = lang_node(p, kind, p->lex.pos);

	lang_next(&p->lex);
	return n;
}

/* Does the expression have a side effect? */
static bool does_something(const struct lang_node *n)
{
	if (n->kind == LANG_N_TERNARY)
		return does_something(n->b) && does_something(n->c);
	if (n->kind == LANG_N_CALL)
		return n->function && n->function->use != LANG_USE_VALUE && n->function->id != LANG_F_STR;
	return n->kind == LANG_N_SET || n->kind == LANG_N_STEP;
}

static struct lang_node *expression_statement(struct lang_parser *p)
{
	struct lang_node *n = lang_expression(p);

	if (n->kind == LANG_N_CALL && n->function && n->function->use == LANG_USE_VALUE)
		lang_fail(p->l, n->pos, "store it in a map: @x = ...", "the result of %s() can only be stored in a map",
			  n->function->name);
	else if (!does_something(n))
		lang_fail(p->l, n->pos, "print it, or set a map or a variable to it", "this value is not used");
	return n;
}

static const struct {
	const char *word;
	struct lang_node *(*parse)(struct lang_parser *p);
	enum lang_kind kind;
	bool open; /* the statement needs no semicolon after it */
} statements[] = {
	{ "if", if_statement, 0, true },          { "unroll", unroll, 0, true },
	{ "for", for_statement, 0, true },        { "let", let_statement, 0, false },
	{ "break", NULL, LANG_N_BREAK, false },   { "continue", NULL, LANG_N_CONTINUE, false },
	{ "return", NULL, LANG_N_RETURN, false },
};

static struct lang_node *statement(struct lang_parser *p)
{
	struct lang_node *n = NULL;
	bool open = p->lex.token == LANG_T_LBRACE;

	p->operators = 0;
	if (lang_word_is(p, "while"))
		lang_fail(p->l, p->lex.pos, "for ($i : 0..100) { ... if (...) { break; } } is bounded",
			  "while is not supported: kernels must not wait");
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]) && !n; i++) {
		if (!lang_word_is(p, statements[i].word))
			continue;
		n = statements[i].parse ? statements[i].parse(p) : word_statement(p, statements[i].kind);
		open = statements[i].open;
	}
	if (!n)
		n = open ? inner_block(p) : expression_statement(p);
	if (!open && p->lex.token != LANG_T_RBRACE && p->lex.token != LANG_T_END)
		lang_expect(p, LANG_T_SEMICOLON, "after the statement");
	return n;
}

/* -- top -- */

/* Parse let @x = hash(1000); */
static void declare(struct lang_parser *p)
{
	struct lang_map *map;
	uint32_t pos;

	lang_next(&p->lex);
	lang_next(&p->lex);
	pos = p->lex.pos;
	map = p->lex.token == LANG_T_MAP ? lang_map_named(p, p->lex.string, pos) : NULL;
	lang_expect(p, LANG_T_MAP, "after let");
	lang_expect(p, LANG_T_SET, "after the map");
	if (!map)
		return;
	if (map->declared)
		lang_fail(p->l, pos, "declare it once", "%s is already declared", map->name);
	map->declared = true;
	map->lru = lang_word_is(p, "lruhash");
	if (!map->lru && !lang_word_is(p, "hash"))
		lang_fail(p->l, p->lex.pos, "hash(4096) and lruhash(4096) are supported", "unknown type of map");
	lang_next(&p->lex);
	lang_expect(p, LANG_T_OPEN, "after the type");
	if (p->lex.token == LANG_T_NUMBER && (!p->lex.number || p->lex.number > LANG_MAX_DECLARED_KEYS))
		lang_fail(p->l, p->lex.pos, "1 to 16777216", "a map cannot have this number of keys");
	map->room = p->lex.number;
	lang_expect(p, LANG_T_NUMBER, "for the number of keys");
	lang_expect(p, LANG_T_CLOSE, "after the number");
	if (p->lex.token != LANG_T_SEMICOLON)
		lang_expect(p, LANG_T_SEMICOLON, "after the declaration");
}

static bool begins_with(const struct lang_lex *x, const char *word)
{
	size_t n = strlen(word);

	return x->l->size - x->at > n && !memcmp(x->l->text + x->at, word, n) && strchr(" \t\n@", x->l->text[x->at + n]);
}

static void filter(struct lang_parser *p, struct lang_block *b)
{
	lang_next(&p->lex);
	if (p->lex.token != LANG_T_DIV)
		return;
	p->filter = true;
	p->operators = 0;
	lang_next(&p->lex);
	b->filter = lang_expression(p);
	p->filter = false;
	lang_expect(p, LANG_T_DIV, "after the filter");
}

static struct lang_block *parse_block(struct lang_parser *p)
{
	struct lang_block *b = lang_alloc(p->l, sizeof(*b));

	if (!b)
		return NULL;
	p->block = b;
	p->depth = 0;
	lang_parse_probes(&p->lex, b);
	filter(p, b);
	if (p->lex.token != LANG_T_LBRACE)
		lang_fail(p->l, p->lex.pos, "e.g. gpu/exit/* /lane == 0/ { @ = count(); }",
			  "a block { ... } is missing after the probe");
	b->body = block(p);
	return b;
}

int lang_parse(struct lang *l)
{
	struct lang_parser p = { .l = l, .lex = { .l = l } };
	struct lang_block **end = &l->blocks;

	lang_skip(&p.lex);
	while (p.lex.at < l->size && !l->failed) {
		if (begins_with(&p.lex, "let")) {
			declare(&p);
		} else if ((*end = parse_block(&p))) {
			end = &(*end)->next;
		}
		lang_skip(&p.lex);
	}
	if (!l->failed && !l->blocks)
		lang_fail(l, 0, "e.g. gpu/exit/* { @[kernel] = count(); }", "the program is empty");
	return l->failed ? -EINVAL : 0;
}
