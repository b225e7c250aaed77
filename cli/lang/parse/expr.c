/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses expressions by operator precedence. Functions never return NULL. After an error, the rest of the text yields
 * empty nodes.
 */
#include "cli/lang/lang.h"

#include <string.h>

#include "parse.h"

static const struct {
	uint32_t precedence;
	enum lang_token assigns;
} operators[LANG_TOKENS] = {
#define LANG_TOKEN(name, text, precedence, assigns) [LANG_T_##name] = { precedence, LANG_T_##assigns },
#include "cli/lang/tree/tokens.def"
};

static bool is_assignment(enum lang_token token)
{
	return token == LANG_T_SET || operators[token].assigns != LANG_T_NONE;
}

struct lang_map *lang_map_named(struct lang_parser *p, const char *name, uint32_t pos)
{
	struct lang_map **end = &p->l->maps, *map;

	for (; *end; end = &(*end)->next)
		if (!strcmp((*end)->name, name))
			return *end;
	map = lang_alloc(p->l, sizeof(*map));
	if (!map)
		return NULL;
	*map = (struct lang_map){ .name = name, .pos = pos, .room = LANG_MAP_KEYS };
	if (++p->l->nmaps > LANG_MAPS)
		lang_fail(p->l, pos, "use keys", "there are more than %u maps", LANG_MAPS);
	*end = map;
	return map;
}

struct lang_node *lang_list(struct lang_parser *p, enum lang_token close, uint32_t *n)
{
	struct lang_node *first = NULL, **end = &first;

	*n = 0;
	if (p->lex.token == close)
		return NULL;
	do {
		*end = lang_expression(p);
		end = &(*end)->next;
		++*n;
	} while (lang_accept(p, LANG_T_COMMA) && p->lex.token != close && !p->l->failed);
	return first;
}

/* -- operators -- */

static struct lang_node *step(struct lang_parser *p, struct lang_node *a, enum lang_token op, uint32_t pos, bool front)
{
	struct lang_node *n = lang_node(p, LANG_N_STEP, pos);

	n->a = a;
	n->op = op == LANG_T_INC ? LANG_T_ADD : LANG_T_SUB;
	n->value = front;
	if (a->kind != LANG_N_VAR && a->kind != LANG_N_MAP)
		lang_fail(p->l, pos, "$x++ or @x++", "%s only applies to variables and maps", lang_token_text(op));
	return n;
}

/* Refuse 1.5. */
static void no_fraction(struct lang_parser *p, const struct lang_node *a)
{
	if (p->lex.token == LANG_T_DOT && a->kind == LANG_N_NUMBER)
		lang_fail(p->l, p->lex.pos,
			  "write 1500us for 1.5 ms; %f in printf() prints a kernel argument as "
			  "floating point",
			  "floating-point numbers are not supported");
}

/* Returns true if .0, .1, ... follows, an element of a tuple. */
static bool is_part(const struct lang_parser *p, const struct lang_node *a)
{
	struct lang_lex ahead = p->lex;

	if (p->lex.token != LANG_T_DOT || a->kind == LANG_N_NUMBER)
		return false;
	lang_next(&ahead);
	return ahead.token == LANG_T_NUMBER;
}

static struct lang_node *part(struct lang_parser *p, struct lang_node *a)
{
	struct lang_node *n = lang_node(p, LANG_N_PART, p->lex.pos);

	lang_next(&p->lex);
	n->a = a;
	n->value = p->lex.number;
	lang_next(&p->lex);
	return n;
}

/* Parse .NAME or ->NAME, a member of a struct. */
static struct lang_node *member(struct lang_parser *p, struct lang_node *a)
{
	struct lang_node *n = lang_node(p, LANG_N_MEMBER, p->lex.pos);

	n->op = p->lex.token;
	n->a = a;
	lang_next(&p->lex);
	n->text = p->lex.string;
	lang_expect(p, LANG_T_WORD, "as the name of a member");
	return n;
}

static struct lang_node *binary_node(struct lang_parser *p, enum lang_token op, struct lang_node *a, struct lang_node *b)
{
	struct lang_node *n = lang_node(p, LANG_N_BINARY, a->pos);

	n->op = op;
	n->a = a;
	n->b = b;
	return n;
}

/* Return an element of a number's bytes: ((uint8[8])x)[i] is (uint8)((uint64)x >> 8 * i). */
static struct lang_node *cast_element(struct lang_parser *p, struct lang_node *cast, struct lang_node *index)
{
	struct lang_node *whole = lang_node(p, LANG_N_CAST, cast->pos), *bits = lang_node(p, LANG_N_NUMBER, cast->pos);

	if (index->kind == LANG_N_NUMBER && index->value >= cast->elements)
		lang_fail(p->l, index->pos, "the first element has the index 0", "the array has %u elements",
			  cast->elements);
	whole->a = cast->a;
	whole->value = 64;
	whole->type = (struct lang_type){ LANG_INT };
	bits->value = cast->value;
	bits->type = (struct lang_type){ LANG_INT };
	cast->a = binary_node(p, LANG_T_RSH, whole, binary_node(p, LANG_T_MUL, index, bits));
	cast->elements = 0;
	return cast;
}

static struct lang_node *element(struct lang_parser *p, struct lang_node *a)
{
	struct lang_node *n = lang_node(p, LANG_N_READ, p->lex.pos);

	lang_next(&p->lex);
	n->a = a;
	n->b = lang_expression(p);
	lang_expect(p, LANG_T_RBRACKET, "after the index");
	return a->elements ? cast_element(p, a, n->b) : n;
}

static struct lang_node *suffix(struct lang_parser *p, struct lang_node *a)
{
	if (p->lex.token == LANG_T_LBRACKET)
		return element(p, a);
	return is_part(p, a) ? part(p, a) : member(p, a);
}

static bool has_suffix(const struct lang_parser *p, const struct lang_node *a)
{
	return p->lex.token == LANG_T_LBRACKET || p->lex.token == LANG_T_ARROW ||
	       (p->lex.token == LANG_T_DOT && a->kind != LANG_N_NUMBER);
}

/* Parse indices after an expression, as in ((uint32 *)arg0)[tid], elements of tuples ($kv.0) and members ($p->a). */
static struct lang_node *elements(struct lang_parser *p, struct lang_node *a)
{
	uint32_t depth = p->depth;

	while (has_suffix(p, a) && !p->l->failed) {
		lang_enter_nesting(p);
		a = suffix(p, a);
	}
	p->depth = depth;
	no_fraction(p, a);
	return a;
}

static struct lang_node *postfix(struct lang_parser *p)
{
	struct lang_node *a = elements(p, lang_primary(p));
	enum lang_token op = p->lex.token;
	uint32_t pos = p->lex.pos;

	if (op != LANG_T_INC && op != LANG_T_DEC)
		return a;
	lang_next(&p->lex);
	return step(p, a, op, pos, false);
}

struct lang_node *lang_unary(struct lang_parser *p)
{
	enum lang_token op = p->lex.token;
	uint32_t pos = p->lex.pos;
	struct lang_node *n;

	if (op == LANG_T_INC || op == LANG_T_DEC) {
		lang_next(&p->lex);
		return step(p, lang_primary(p), op, pos, true);
	}
	if (op != LANG_T_SUB && op != LANG_T_NOT && op != LANG_T_INVERT && op != LANG_T_MUL && op != LANG_T_AND)
		return postfix(p);
	lang_next(&p->lex);
	lang_enter_nesting(p);
	n = lang_node(p, op == LANG_T_MUL ? LANG_N_READ : op == LANG_T_AND ? LANG_N_PLACE : LANG_N_UNARY, pos);
	n->op = op;
	n->a = lang_unary(p);
	p->depth--;
	if (n->kind == LANG_N_PLACE && n->a->kind != LANG_N_READ && n->a->kind != LANG_N_MEMBER)
		lang_fail(p->l, pos, "&$p->member and &$p[i] are addresses; write args.a for the value of the argument a",
			  "this value has no address");
	return n;
}

/* Returns true if this / ends the filter: the next character is a {. */
static bool ends_filter(struct lang_parser *p)
{
	struct lang_lex ahead = p->lex;

	if (!p->filter || p->lex.token != LANG_T_DIV)
		return false;
	lang_skip(&ahead);
	return ahead.at < lang_end(&ahead) && p->l->text[ahead.at] == '{';
}

static struct lang_node *binary(struct lang_parser *p, uint32_t least)
{
	struct lang_node *a = lang_unary(p), *n;

	while (operators[p->lex.token].precedence >= least && operators[p->lex.token].precedence && !ends_filter(p)) {
		n = lang_node(p, LANG_N_BINARY, p->lex.pos);
		n->op = p->lex.token;
		if (++p->operators > LANG_OPERATORS)
			lang_fail(p->l, n->pos, "store parts of it in variables",
				  "the statement has more than %u operators", LANG_OPERATORS);
		lang_next(&p->lex);
		lang_enter_nesting(p);
		n->a = a;
		n->b = binary(p, operators[n->op].precedence + 1);
		p->depth--;
		a = n;
	}
	return a;
}

static struct lang_node *ternary(struct lang_parser *p)
{
	struct lang_node *a = binary(p, 1), *n;

	if (p->lex.token != LANG_T_QUESTION)
		return a;
	n = lang_node(p, LANG_N_TERNARY, p->lex.pos);
	lang_next(&p->lex);
	n->a = a;
	n->b = lang_expression(p);
	lang_expect(p, LANG_T_COLON, "between the two values");
	n->c = lang_expression(p);
	return n;
}

struct lang_var *lang_variable(struct lang_parser *p, const char *name, uint32_t pos)
{
	struct lang_var **end = &p->block->vars, *var = lang_alloc(p->l, sizeof(*var));

	while (*end)
		end = &(*end)->next;
	if (!var)
		return NULL;
	*var = (struct lang_var){ .name = name, .scope = p->depth, .frame = p->frame };
	*end = var;
	if (++p->block->nvars > LANG_VARS)
		lang_fail(p->l, pos, "use fewer", "the probe has more than %u variables", LANG_VARS);
	return var;
}

struct lang_node *lang_expression(struct lang_parser *p)
{
	struct lang_node *a, *n;

	lang_enter_nesting(p);
	a = ternary(p);
	p->depth--;
	if (!is_assignment(p->lex.token))
		return a;
	n = lang_node(p, LANG_N_SET, p->lex.pos);
	n->op = operators[p->lex.token].assigns;
	n->a = a;
	if (a->kind != LANG_N_VAR && a->kind != LANG_N_MAP)
		lang_fail(p->l, n->pos, "$x = ... or @x = ...", "only variables and maps can be set");
	lang_next(&p->lex);
	lang_enter_nesting(p);
	n->b = lang_expression(p);
	p->depth--;
	/* a name that is set for the first time becomes a variable of the enclosing block */
	if (a->kind == LANG_N_VAR && !a->var && n->op == LANG_T_NONE)
		a->var = lang_variable(p, a->text, a->pos);
	return n;
}
