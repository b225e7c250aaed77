/* SPDX-License-Identifier: Apache-2.0 */
/* Parses statements and blocks. */
#include "cli/lang/lang.h"

#include <string.h>

#include "parse.h"

void lang_end_scope(struct lang_parser *p)
{
	for (struct lang_var *v = p->block->vars; v; v = v->next)
		if (v->scope >= p->depth)
			v->scope = UINT32_MAX;
}

struct lang_node *lang_block(struct lang_parser *p)
{
	struct lang_node *n = lang_node(p, LANG_N_BLOCK, p->lex.pos), **end = &n->list;

	lang_expect(p, LANG_T_LBRACE, "at the start of a block");
	lang_enter_nesting(p);
	while (p->lex.token != LANG_T_RBRACE && p->lex.token != LANG_T_END && !p->l->failed) {
		if (lang_accept(p, LANG_T_SEMICOLON))
			continue;
		*end = lang_statement(p);
		end = &(*end)->next;
	}
	lang_end_scope(p);
	p->depth--;
	if (p->lex.token == LANG_T_END)
		lang_fail(p->l, n->pos, "end it with }", "the block is not terminated");
	return n;
}

/*
 * Parse a block and consume its }. (lang_block() leaves the } to its caller, because the text after it depends on the
 * context.)
 */
static struct lang_node *inner_block(struct lang_parser *p)
{
	struct lang_node *n = lang_block(p);

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
	bool is_closed;

	lang_next(&p->lex);
	is_closed = lang_accept(p, LANG_T_OPEN);
	n->value = p->lex.number;
	if (p->lex.token == LANG_T_NUMBER && (!n->value || n->value > LANG_UNROLL))
		lang_fail(p->l, p->lex.pos, "use for ($i : 0..n), which repeats without copies of the code",
			  "unroll() takes 1 to %u", LANG_UNROLL);
	lang_expect(p, LANG_T_NUMBER, "in unroll()");
	if (is_closed)
		lang_expect(p, LANG_T_CLOSE, "after the number");
	n->b = inner_block(p);
	return n;
}

/* Parse the rest of a loop over a map: for ($kv : @map) { ... }. */
static struct lang_node *each_statement(struct lang_parser *p, struct lang_node *n, const char *name, bool open)
{
	n->kind = LANG_N_EACH;
	n->a = lang_expression(p);
	if (n->a->kind != LANG_N_MAP || n->a->list)
		lang_fail(p->l, n->a->pos, "for ($kv : @map) visits all keys", "a loop visits the keys of a whole map");
	if (open)
		lang_expect(p, LANG_T_CLOSE, "after the map");
	lang_enter_nesting(p);
	n->var = lang_variable(p, name, n->pos);
	n->b = inner_block(p);
	lang_end_scope(p);
	p->depth--;
	return n;
}

static struct lang_node *range_statement(struct lang_parser *p, struct lang_node *n, const char *name, bool open)
{
	struct lang_var *end;

	n->a = lang_expression(p);
	lang_expect(p, LANG_T_RANGE, "between the bounds");
	n->c = lang_expression(p);
	if (open)
		lang_expect(p, LANG_T_CLOSE, "after the bounds");
	lang_enter_nesting(p);
	n->var = lang_variable(p, name, n->pos);
	end = lang_variable(p, "", n->pos); /* hidden variable for the end of the range, which is computed once */
	if (n->var && end)
		n->var->type = end->type = (struct lang_type){ LANG_INT, true };
	n->b = inner_block(p);
	lang_end_scope(p);
	p->depth--;
	return n;
}

static struct lang_node *for_statement(struct lang_parser *p)
{
	struct lang_node *n = lang_node(p, LANG_N_FOR, p->lex.pos);
	const char *name;
	bool open;

	lang_next(&p->lex);
	open = lang_accept(p, LANG_T_OPEN);
	name = p->lex.string;
	lang_expect(p, LANG_T_VAR, "after for");
	lang_expect(p, LANG_T_COLON, "after the variable");
	return p->lex.token == LANG_T_MAP ? each_statement(p, n, name, open) : range_statement(p, n, name, open);
}

/*
 * Returns true if the body contains a statement that leaves the loop, or has more than *budget nodes. Macros share their
 * arguments, so the body may be very large.
 */
static bool leaves(const struct lang_node *n, bool inner, uint32_t *budget)
{
	if (!n)
		return false;
	if (!--*budget)
		return true;
	if (n->kind == LANG_N_RETURN || (n->kind == LANG_N_BREAK && !inner))
		return true;
	inner |= n->kind == LANG_N_FOR || n->kind == LANG_N_EACH || n->kind == LANG_N_WHILE;
	if (leaves(n->b, inner, budget) || (n->kind == LANG_N_IF && leaves(n->c, inner, budget)))
		return true;
	for (const struct lang_node *s = n->kind == LANG_N_BLOCK || n->kind == LANG_N_VALUE ? n->list : NULL; s; s = s->next)
		if (leaves(s, inner, budget))
			return true;
	return false;
}

static struct lang_node *while_statement(struct lang_parser *p)
{
	struct lang_node *n = lang_node(p, LANG_N_WHILE, p->lex.pos);
	uint32_t budget = 10000;

	lang_next(&p->lex);
	n->a = lang_expression(p);
	lang_enter_nesting(p);
	n->b = inner_block(p);
	p->depth--;
	if (n->a->kind == LANG_N_NUMBER && n->a->value && !leaves(n->b, false, &budget))
		lang_fail(p->l, n->pos, "add if (...) { break; } to the loop, or use for ($i : 0..n)",
			  "this loop never ends: its condition is always true, and no break or return leaves it");
	return n;
}

/* Parse return; or return VALUE; */
static struct lang_node *return_statement(struct lang_parser *p)
{
	struct lang_node *n = lang_node(p, LANG_N_RETURN, p->lex.pos);

	lang_next(&p->lex);
	n->c = lang_function_node(p);
	if (p->lex.token != LANG_T_SEMICOLON && p->lex.token != LANG_T_RBRACE && p->lex.token != LANG_T_END)
		n->a = lang_expression(p);
	return n;
}

void lang_read_type(struct lang_parser *p, struct lang_type *type, uint32_t *bits)
{
	if (lang_word_is(p, "string"))
		type->base = LANG_NAME;
	else if (lang_word_is(p, "bool"))
		type->base = LANG_BOOL;
	else if (p->lex.token == LANG_T_WORD && lang_type_named(p->lex.string, bits, &type->is_signed))
		type->base = LANG_INT;
	else
		lang_fail(p->l, p->lex.pos, "use an integer type such as uint64, or string",
			  "a variable cannot have this type");
	lang_next(&p->lex);
}

/*
 * Return a statement that sets a declared variable without initial value to 0 or "". Without a type, return an empty
 * block.
 */
static struct lang_node *initial_value(struct lang_parser *p, struct lang_node *set, enum lang_base base)
{
	if (base == LANG_VOID)
		return lang_node(p, LANG_N_BLOCK, set->pos);
	set->b = lang_node(p, base == LANG_NAME ? LANG_N_STRING : LANG_N_NUMBER, set->pos);
	set->b->type = base == LANG_NAME ? (struct lang_type){ LANG_TEXT } : (struct lang_type){ LANG_INT, true };
	set->b->text = "";
	set->b->literal = base == LANG_INT;
	if (base == LANG_BOOL)
		set->b->type.base = LANG_BOOL;
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
		if (!strcmp(v->name, p->lex.string) && v->scope != UINT32_MAX && v->frame == p->frame)
			lang_fail(p->l, pos, "choose another name, or omit let", "%s is already defined", v->name);
	if (p->lex.token != LANG_T_VAR)
		lang_fail(p->l, pos, "let $x = 0;", "let expects a variable here");
	set->a = lang_node(p, LANG_N_VAR, pos);
	set->a->text = p->lex.string;
	lang_next(&p->lex);
	if (lang_accept(p, LANG_T_COLON))
		lang_read_type(p, &type, &bits);
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

/* Returns true if the expression has a side effect, so that it is useful as a statement. */
static bool does_something(const struct lang_node *n)
{
	if (n->kind == LANG_N_VALUE || n->kind == LANG_N_FN)
		return true;
	if (n->kind == LANG_N_TERNARY)
		return does_something(n->b) && does_something(n->c);
	if (n->kind == LANG_N_CALL)
		return n->function && (n->function->use == LANG_USE_ACTION || n->function->id == LANG_F_DELETE ||
				       n->function->id == LANG_F_FIND || n->function->id == LANG_F_ASSERT);
	return n->kind == LANG_N_SET || n->kind == LANG_N_STEP;
}

/* Warn of a statement whose value is not used and that has no effect. Discard its value. */
static struct lang_node *need_effect(struct lang_parser *p, struct lang_node *n)
{
	struct lang_node *discard;

	if (n->kind == LANG_N_CALL && n->function && n->function->use == LANG_USE_VALUE)
		lang_fail(p->l, n->pos, "store it in a map: @x = ...", "the result of %s() can only be stored in a map",
			  n->function->name);
	if (p->l->failed || does_something(n))
		return n;
	lang_warn(p->l, n->pos, "this value is not used; print it, or set a map or a variable to it");
	discard = lang_node(p, LANG_N_VALUE, n->pos);
	discard->a = n;
	return discard;
}

/* Parse an expression as a statement. `_ = expression` discards its value. */
static struct lang_node *expression_statement(struct lang_parser *p)
{
	struct lang_node *n;

	if (!lang_word_is(p, "_"))
		return need_effect(p, lang_expression(p));
	n = lang_node(p, LANG_N_VALUE, p->lex.pos);
	lang_next(&p->lex);
	lang_expect(p, LANG_T_SET, "after _");
	n->a = lang_expression(p);
	return n;
}

static const struct statement_word {
	const char *word;
	struct lang_node *(*parse)(struct lang_parser *p);
	enum lang_kind kind;
	bool open; /* no semicolon is required after the statement */
} statements[] = {
	{ "if", if_statement, 0, true },
	{ "unroll", unroll, 0, true },
	{ "for", for_statement, 0, true },
	{ "while", while_statement, 0, true },
	{ "let", let_statement, 0, false },
	{ "break", NULL, LANG_N_BREAK, false },
	{ "continue", NULL, LANG_N_CONTINUE, false },
	{ "return", return_statement, 0, false },
};

static const struct statement_word *find_statement(const struct lang_parser *p)
{
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
		if (lang_word_is(p, statements[i].word))
			return &statements[i];
	return NULL;
}

static void end_statement(struct lang_parser *p)
{
	if (p->lex.token != LANG_T_RBRACE && p->lex.token != LANG_T_END)
		lang_expect(p, LANG_T_SEMICOLON, "after the statement");
}

struct lang_node *lang_statement(struct lang_parser *p)
{
	const struct statement_word *word = find_statement(p);
	bool open = word ? word->open : p->lex.token == LANG_T_LBRACE;
	struct lang_node *n;

	p->operators = 0;
	if (word)
		n = word->parse ? word->parse(p) : word_statement(p, word->kind);
	else
		n = open ? inner_block(p) : expression_statement(p);
	if (!open)
		end_statement(p);
	return n;
}

struct lang_node *lang_value_block(struct lang_parser *p)
{
	struct lang_node *n = lang_node(p, LANG_N_VALUE, p->lex.pos), **end = &n->list;
	uint32_t operators = p->operators;

	lang_expect(p, LANG_T_LBRACE, "at the start of a block");
	lang_enter_nesting(p);
	while (p->lex.token != LANG_T_RBRACE && p->lex.token != LANG_T_END && !p->l->failed) {
		if (lang_accept(p, LANG_T_SEMICOLON))
			continue;
		if (find_statement(p) || lang_word_is(p, "_")) {
			*end = lang_statement(p);
			end = &(*end)->next;
			continue;
		}
		n->a = lang_expression(p);
		if (p->lex.token == LANG_T_RBRACE)
			break;
		*end = need_effect(p, n->a);
		end = &(*end)->next;
		n->a = NULL;
		end_statement(p);
	}
	lang_end_scope(p);
	p->depth--;
	p->operators = operators;
	if (p->lex.token == LANG_T_END)
		lang_fail(p->l, n->pos, "end it with }", "the block is not terminated");
	return n;
}
