/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Macros and functions of a program text. Both are expanded at each call: the parser reads the body again, and binds
 * the parameters. The arguments of a macro replace its parameters. The arguments of a function become variables.
 * Variables of a body belong to its frame, so no name of a body and of its caller can collide.
 */
#include "cli/lang/lang.h"

#include <ctype.h>
#include <string.h>

#include "parse.h"

#define MAX_PARAMETERS 16

struct lang_macro {
	struct lang_macro *next;
	const char *name;
	uint32_t pos, at; /* positions of the definition, and of the text after its name */
	bool is_function;
};

struct parameter {
	const char *name; /* with $ or @ */
	uint32_t pos;
	enum lang_token token; /* LANG_T_VAR, LANG_T_MAP or LANG_T_WORD */
	struct lang_type type; /* only for functions */
	uint32_t bits;
	struct lang_node *passed; /* the argument; NULL: the parameter is a variable */
};

struct lang_frame {
	struct lang_frame *outer;
	const struct lang_macro *macro;
	struct parameter parameter[MAX_PARAMETERS];
	uint32_t n;
	struct lang_type result;
	uint32_t result_bits;
	struct lang_node *call; /* the LANG_N_FN of a function */
};

/* -- definitions -- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Return the position after the string or comment that begins at `at`, or `at` if none does. */
static uint32_t skip_quoted(const struct lang *l, uint32_t at)
{
	const char *t = l->text;
	uint32_t end = at;

	if (t[at] == '"') {
		for (end++; end < l->total && t[end] != '"' && t[end] != '\n'; end++)
			end += t[end] == '\\';
		return end + 1;
	}
	if (t[at] != '/' || at + 1 >= l->total)
		return at;
	if (t[at + 1] == '/')
		while (end < l->total && t[end] != '\n')
			end++;
	/* a glob, as in gpu/exit/ *, is no comment */
	else if (t[at + 1] == '*' && (!at || isspace((unsigned char)t[at - 1]) || strchr(";{}", t[at - 1])))
		for (end += 2; end < l->total && !(t[end - 1] == '*' && t[end] == '/' && end > at + 2);)
			end++;
	return end;
}

/* If a definition begins at the position, add it. */
static void add_definition(struct lang *l, uint32_t pos, const char *keyword)
{
	struct lang_lex x = { .l = l, .at = pos + (uint32_t)strlen(keyword) };
	struct lang_macro *m;
	uint32_t n = 0;

	while (x.at < l->total && isspace((unsigned char)l->text[x.at]))
		x.at++;
	while (x.at + n < l->total && is_word(l->text[x.at + n]))
		n++;
	m = n && x.at > pos + strlen(keyword) ? lang_alloc(l, sizeof(*m)) : NULL;
	if (!m)
		return;
	*m = (struct lang_macro){ l->macros, lang_copy(l, l->text + x.at, n), pos, x.at + n, keyword[0] == 'f' };
	l->macros = m;
}

void lang_find_macros(struct lang *l, uint32_t begin, uint32_t end)
{
	for (uint32_t at = begin; at < end;) {
		uint32_t next = skip_quoted(l, at), n = 0;

		if (next > at) {
			at = next;
			continue;
		}
		while (at + n < l->total && is_word(l->text[at + n]))
			n++;
		if (n == 5 && !strncmp(l->text + at, "macro", 5))
			add_definition(l, at, "macro");
		else if (n == 2 && !strncmp(l->text + at, "fn", 2))
			add_definition(l, at, "fn");
		at += n ? n : 1;
	}
}

static const struct lang_macro *find_macro(const struct lang *l, const char *name)
{
	const struct lang_macro *m = l->macros;

	while (m && strcmp(m->name, name))
		m = m->next;
	return m;
}

/* -- the head of a definition -- */

static void read_parameter(struct lang_parser *p, struct lang_frame *f)
{
	struct parameter *q = &f->parameter[f->n];

	if (f->n == MAX_PARAMETERS) {
		lang_fail(p->l, p->lex.pos, "pass a tuple", "there are more than %u parameters", MAX_PARAMETERS);
		return;
	}
	*q = (struct parameter){ .name = p->lex.string, .pos = p->lex.pos, .token = p->lex.token };
	if (p->lex.token != LANG_T_VAR &&
	    (f->macro->is_function || (p->lex.token != LANG_T_MAP && p->lex.token != LANG_T_WORD)))
		lang_fail(p->l, p->lex.pos,
			  f->macro->is_function ? "fn f($a : int64) : int64 { return $a; }" : "macro m($a, @b, c) { ... }",
			  "this cannot be a parameter");
	lang_next(&p->lex);
	f->n++;
	if (!f->macro->is_function)
		return;
	lang_expect(p, LANG_T_COLON, "between the parameter and its type");
	lang_read_type(p, &q->type, &q->bits);
}

/* Parse (parameters), and for a function : type. Afterwards the current token is the { of the body. */
static void read_head(struct lang_parser *p, struct lang_frame *f)
{
	lang_next(&p->lex);
	lang_expect(p, LANG_T_OPEN, "after the name");
	while (p->lex.token != LANG_T_CLOSE && p->lex.token != LANG_T_END && !p->l->failed) {
		read_parameter(p, f);
		if (p->lex.token != LANG_T_CLOSE)
			lang_expect(p, LANG_T_COMMA, "between the parameters");
	}
	lang_expect(p, LANG_T_CLOSE, "after the parameters");
	if (!f->macro->is_function)
		return;
	lang_expect(p, LANG_T_COLON, "before the type of the result");
	if (lang_word_is(p, "void"))
		lang_next(&p->lex);
	else
		lang_read_type(p, &f->result, &f->result_bits);
}

void lang_skip_definition(struct lang_parser *p)
{
	uint32_t pos = p->lex.at, depth = 0;
	struct lang_frame f = { 0 };

	for (const struct lang_macro *m = p->l->macros; m; m = m->next)
		if (m->pos == pos)
			f.macro = m;
	if (!f.macro) {
		lang_fail(p->l, pos, "macro add_one(x) { x + 1 }", "a definition needs a name");
		return;
	}
	for (const struct lang_macro *m = f.macro->next; m; m = m->next)
		if (!strcmp(m->name, f.macro->name))
			lang_fail(p->l, pos, "choose another name", "%s is already defined", m->name);
	p->lex.at = f.macro->at;
	read_head(p, &f);
	if (p->lex.token != LANG_T_LBRACE)
		lang_expect(p, LANG_T_LBRACE, "at the start of the body");
	do {
		depth += p->lex.token == LANG_T_LBRACE;
		depth -= p->lex.token == LANG_T_RBRACE;
		if (p->lex.token == LANG_T_END)
			lang_fail(p->l, pos, "end it with }", "the definition of %s is not terminated", f.macro->name);
		if (depth)
			lang_next(&p->lex);
	} while (depth && !p->l->failed);
}

/* -- calls -- */

struct lang_node *lang_function_node(const struct lang_parser *p)
{
	return p->frame ? p->frame->call : NULL;
}

struct lang_node *lang_parameter(struct lang_parser *p, const char *name, uint32_t pos)
{
	struct lang_node *n;

	for (uint32_t i = 0; p->frame && i < p->frame->n; i++) {
		struct parameter *q = &p->frame->parameter[i];

		if (!q->passed || strcmp(q->name, name))
			continue;
		n = lang_node(p, LANG_N_NUMBER, pos);
		*n = *q->passed;
		n->next = NULL;
		return n;
	}
	if (p->frame && name[0] == '@' && !p->frame->call)
		lang_fail(p->l, pos, "pass it: macro m(@x) { ... }",
			  "the macro %s uses %s, which is not one of its parameters", p->frame->macro->name, name);
	return NULL;
}

/* Bind the arguments of a macro, which replace its parameters. */
static void bind(struct lang_parser *p, struct lang_frame *f, struct lang_node *arg)
{
	for (uint32_t i = 0; i < f->n && arg; i++, arg = arg->next) {
		struct parameter *q = &f->parameter[i];

		q->passed = arg;
		if (q->token == LANG_T_MAP && (arg->kind != LANG_N_MAP || arg->list))
			lang_fail(p->l, arg->pos, "pass a map without a key, such as @x",
				  "the parameter %s of %s() is a map", q->name, f->macro->name);
	}
}

/* Set the parameters of a function, which are variables, to the arguments. */
static void set_parameters(struct lang_parser *p, struct lang_frame *f, struct lang_node *arg)
{
	struct lang_node **end = &f->call->list, *next;

	for (uint32_t i = 0; i < f->n && arg; i++, arg = next) {
		struct lang_node *set = lang_node(p, LANG_N_SET, arg->pos);

		next = arg->next;
		arg->next = NULL;
		set->a = lang_node(p, LANG_N_VAR, arg->pos);
		set->a->text = f->parameter[i].name;
		set->a->var = lang_variable(p, f->parameter[i].name, arg->pos);
		set->b = arg;
		if (set->a->var) {
			set->a->var->type = f->parameter[i].type;
			set->a->var->bits = f->parameter[i].bits;
		}
		*end = set;
		end = &set->next;
	}
}

static struct lang_node *expand_function(struct lang_parser *p, struct lang_frame *f, struct lang_node *args, uint32_t pos)
{
	struct lang_node *n = f->call = lang_node(p, LANG_N_FN, pos);

	lang_enter_nesting(p);
	n->text = f->macro->name;
	n->type = f->result;
	n->var = lang_variable(p, "", pos);
	if (n->var) {
		n->var->type = f->result.base == LANG_VOID ? (struct lang_type){ LANG_INT, true } : f->result;
		n->var->bits = f->result_bits;
	}
	set_parameters(p, f, args);
	n->b = lang_block(p);
	lang_end_scope(p);
	p->depth--;
	return n;
}

static bool may_expand(struct lang_parser *p, const struct lang_macro *m, uint32_t pos)
{
	for (const struct lang_frame *f = p->frame; f; f = f->outer)
		if (f->macro == m)
			lang_fail(p->l, pos, "use a loop: for ($i : 0..n) { ... }", "%s calls itself", m->name);
	if (++p->l->expansions > LANG_EXPANSIONS)
		lang_fail(p->l, pos, "call fewer macros from macros",
			  "more than %u calls of macros and functions are expanded", LANG_EXPANSIONS);
	return !p->l->failed;
}

static struct lang_node *expand(struct lang_parser *p, struct lang_frame *f, uint32_t pos)
{
	struct lang_node *args = NULL, *n;
	struct lang_parser outer;
	uint32_t nargs = 0;

	if (lang_accept(p, LANG_T_OPEN)) {
		args = lang_list(p, LANG_T_CLOSE, &nargs);
		lang_expect(p, LANG_T_CLOSE, "after the arguments");
	}
	outer = *p;
	p->lex = (struct lang_lex){ .l = p->l, .at = f->macro->at };
	p->filter = false;
	read_head(p, f);
	if (nargs != f->n)
		lang_fail(p->l, pos, "pass one argument for each parameter", "%s() has %u parameters, but %u arguments",
			  f->macro->name, f->n, nargs);
	p->frame = f;
	if (!f->macro->is_function)
		bind(p, f, args);
	n = f->macro->is_function ? expand_function(p, f, args, pos) : lang_value_block(p);
	p->lex = outer.lex;
	p->filter = outer.filter;
	p->frame = outer.frame;
	n->pos = pos;
	return n;
}

struct lang_node *lang_expand(struct lang_parser *p, const char *name, uint32_t pos)
{
	const struct lang_macro *m = find_macro(p->l, name);
	struct lang_frame *f;

	if (!m)
		return NULL;
	f = may_expand(p, m, pos) ? lang_alloc(p->l, sizeof(*f)) : NULL;
	if (!f)
		return lang_node(p, LANG_N_NUMBER, pos);
	f->outer = p->frame;
	f->macro = m;
	return expand(p, f, pos);
}
