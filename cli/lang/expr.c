/* SPDX-License-Identifier: Apache-2.0 */
/* Parses expressions by precedence. Nodes are never NULL; after an error the rest of the text yields empty nodes. */
#include "lang.h"

#include <string.h>

static const struct {
	uint32_t precedence;
	enum lang_token assigns;
} operators[LANG_TOKENS] = {
#define LANG_TOKEN(name, text, precedence, assigns) [LANG_T_##name] = { precedence, LANG_T_##assigns },
#include "tokens.def"
};

static bool is_assignment(enum lang_token token)
{
	return token == LANG_T_SET || operators[token].assigns != LANG_T_NONE;
}

struct lang_node *lang_node(struct lang_parser *p, enum lang_kind kind, uint32_t pos)
{
	struct lang_node *n = lang_alloc(p->l, sizeof(*n));

	if (!n) {
		n = &p->l->spare;
		memset(n, 0, sizeof(*n));
	}
	n->kind = kind;
	n->pos = pos;
	n->action = -1;
	return n;
}

bool lang_accept(struct lang_parser *p, enum lang_token token)
{
	if (p->lex.token != token)
		return false;
	lang_next(&p->lex);
	return true;
}

void lang_expect(struct lang_parser *p, enum lang_token token, const char *where)
{
	char remedy[96];

	if (lang_accept(p, token))
		return;
	snprintf(remedy, sizeof(remedy), "put %s there", lang_token_text(token));
	lang_fail(p->l, p->lex.pos, remedy, "%s is missing %s", lang_token_text(token), where);
}

bool lang_word_is(const struct lang_parser *p, const char *word)
{
	return p->lex.token == LANG_T_WORD && !strcmp(p->lex.string, word);
}

void lang_enter_nesting(struct lang_parser *p)
{
	if (++p->depth > LANG_DEPTH)
		lang_fail(p->l, p->lex.pos, "use variables for parts of it", "this is nested more than %u levels deep",
			  LANG_DEPTH);
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

/* Parse a comma-separated list of expressions, up to `close`. */
static struct lang_node *list(struct lang_parser *p, enum lang_token close, uint32_t *n)
{
	struct lang_node *first = NULL, **end = &first;

	*n = 0;
	if (p->lex.token == close)
		return NULL;
	do {
		*end = lang_expression(p);
		end = &(*end)->next;
		++*n;
	} while (lang_accept(p, LANG_T_COMMA) && !p->l->failed);
	return first;
}

/* -- primary -- */

static struct lang_node *map_node(struct lang_parser *p)
{
	struct lang_node *n = lang_node(p, LANG_N_MAP, p->lex.pos);
	uint32_t keys;

	n->map = lang_map_named(p, p->lex.string, p->lex.pos);
	lang_next(&p->lex);
	if (!lang_accept(p, LANG_T_LBRACKET))
		return n;
	n->list = list(p, LANG_T_RBRACKET, &keys);
	n->value = keys;
	if (!keys)
		lang_fail(p->l, p->lex.pos, "omit the brackets", "the key is empty");
	if (keys > LANG_KEYS)
		lang_fail(p->l, n->pos, "combine some elements", "the key has %u elements; the maximum is %u", keys,
			  LANG_KEYS);
	lang_expect(p, LANG_T_RBRACKET, "after the key");
	return n;
}

static struct lang_node *call(struct lang_parser *p, const char *name, uint32_t pos)
{
	struct lang_node *n = lang_node(p, LANG_N_CALL, pos);
	uint32_t args;

	n->function = lang_function_find(name);
	n->list = list(p, LANG_T_CLOSE, &args);
	lang_expect(p, LANG_T_CLOSE, "after the arguments");
	if (!n->function || (args >= n->function->least && args <= n->function->most))
		return n;
	lang_fail(p->l, pos, n->function->shown, "%s() with %u argument%s", name, args, args == 1 ? "" : "s");
	return n;
}

/* Parse a suffix .x, .y or .z. */
static void triple(struct lang_parser *p, struct lang_node *n)
{
	static const char *const names[] = { "x", "y", "z" };

	if (p->lex.token != LANG_T_DOT)
		return;
	lang_next(&p->lex);
	for (uint32_t i = 0; i < 3; i++)
		if (lang_word_is(p, names[i]))
			n->value = i + 1;
	if (!n->value)
		lang_fail(p->l, p->lex.pos, ".x, .y or .z", "%s has no such component", n->builtin.name);
	lang_next(&p->lex);
}

/* Parse ctx.FIELD.FIELD[i]. */
static struct lang_node *context(struct lang_parser *p, uint32_t pos)
{
	struct lang_node *n = lang_node(p, LANG_N_BUILTIN, pos);
	char field[64] = "";
	uint64_t index = 0;

	while (lang_accept(p, LANG_T_DOT) || lang_accept(p, LANG_T_ARROW)) {
		size_t at = strlen(field);

		snprintf(field + at, sizeof(field) - at, "%s%s", at ? "." : "", p->lex.string);
		lang_expect(p, LANG_T_WORD, "after the point");
	}
	if (lang_accept(p, LANG_T_LBRACKET)) {
		index = p->lex.number;
		lang_expect(p, LANG_T_NUMBER, "as the index");
		lang_expect(p, LANG_T_RBRACKET, "after the index");
	}
	if (!lang_field_find(field, index, &n->builtin))
		lang_fail(p->l, pos, "gpubpf-prog(8) lists the fields, e.g. ctx.mem.addr",
			  "the context has no field %s%s", field, index ? " of that index" : "");
	n->type.base = n->builtin.base;
	return n;
}

/* Parse args.NAME whose parameter each kernel defines: the name is looked up when a kernel is probed. */
static struct lang_node *named(struct lang_parser *p, uint32_t pos)
{
	struct lang_node *n = lang_node(p, LANG_N_BUILTIN, pos);

	n->text = p->lex.string;
	if (p->lex.token != LANG_T_WORD)
		lang_fail(p->l, p->lex.pos, "args.n is the argument n of the kernel", "the name of an argument is missing");
	else if (!lang_builtin_named(p->l, n->text, &n->builtin))
		lang_fail(p->l, p->lex.pos, "use arg0, arg1, ... for some",
			  "the names of arguments have more than %u bytes", LANG_NAMES_SIZE);
	lang_next(&p->lex);
	return n;
}

/* Parse args.NAME for an argument that the probe declares. */
static struct lang_node *argument(struct lang_parser *p, uint32_t pos)
{
	struct lang_node *n = lang_node(p, LANG_N_CAST, pos), *bits = lang_node(p, LANG_N_BUILTIN, pos);
	const struct lang_block *block = p->block;
	char word[16];

	if (!lang_accept(p, LANG_T_DOT))
		lang_expect(p, LANG_T_ARROW, "after args");
	if (!block->nargs)
		return named(p, pos);
	for (uint32_t i = 0; i < block->nargs; i++) {
		if (!lang_word_is(p, block->args[i].name))
			continue;
		snprintf(word, sizeof(word), "arg%u", i);
		lang_builtin_find(word, &bits->builtin);
		bits->builtin.base = block->args[i].type.base;
		bits->type.base = block->args[i].type.base;
		n->type = block->args[i].type;
		n->value = block->args[i].bits ? block->args[i].bits : 64;
		n->a = bits;
		lang_next(&p->lex);
		return n;
	}
	lang_fail(p->l, p->lex.pos, "the probe names the arguments in parentheses", "no argument is named %s",
		  p->lex.string);
	return n;
}

static struct lang_node *unknown(struct lang_parser *p, const char *word, uint32_t pos)
{
	const char *instead, *why = lang_refused(word, &instead);
	char near[96];

	if (why)
		lang_fail(p->l, pos, instead, "%s is not available in GPU kernels: %s", word, why);
	else if (p->lex.token == LANG_T_DOT)
		lang_fail(p->l, pos, "ctx.mem.addr is a field of the context, args.n an argument of the kernel",
			  "%s is not known", word);
	else
		lang_fail(p->l, pos, lang_nearest_word(word, near, sizeof(near)), "%s is not known", word);
	return lang_node(p, LANG_N_NUMBER, pos);
}

/* Parse ustack or ustack(n). One map has all stacks, so all uses must have the same depth. */
static void frames(struct lang_parser *p, const struct lang_node *n)
{
	uint64_t requested = LANG_FRAMES;

	if (lang_accept(p, LANG_T_OPEN)) {
		requested = p->lex.number;
		if (p->lex.token == LANG_T_NUMBER && (!requested || requested > LANG_FRAMES))
			lang_fail(p->l, p->lex.pos, "ustack has all functions", "ustack() takes 1 to %u", LANG_FRAMES);
		lang_expect(p, LANG_T_NUMBER, "in ustack()");
		lang_expect(p, LANG_T_CLOSE, "after the number");
	}
	if (p->l->frames && p->l->frames != requested)
		lang_fail(p->l, n->pos, "use the same number everywhere",
			  "an earlier ustack has %u functions, and "
			  "this one another number",
			  p->l->frames);
	p->l->frames = (uint32_t)requested;
}

static struct lang_node *word_node(struct lang_parser *p)
{
	const char *word = p->lex.string;
	uint32_t pos = p->lex.pos;
	struct lang_node *n;

	lang_next(&p->lex);
	if (!strcmp(word, "ctx"))
		return context(p, pos);
	if (!strcmp(word, "args"))
		return argument(p, pos);
	if (lang_function_find(word)) {
		lang_expect(p, LANG_T_OPEN, "after the function's name");
		return call(p, word, pos);
	}
	n = lang_node(p, LANG_N_BUILTIN, pos);
	if (!lang_builtin_find(word, &n->builtin))
		return unknown(p, word, pos);
	n->text = word;
	n->type.base = n->builtin.base;
	if (n->builtin.source == LANG_SOURCE_TRIPLE)
		triple(p, n);
	else if (n->builtin.source == LANG_SOURCE_STACK)
		frames(p, n);
	else if (p->lex.token == LANG_T_DOT)
		lang_fail(p->l, p->lex.pos,
			  "lid.x is a thread's index in its block, gid.x in the launch; bid, bdim "
			  "and gdim have components too",
			  "%s has no components", word);
	return n;
}

static struct lang_var *find_var(struct lang_parser *p, const char *name)
{
	struct lang_var *found = NULL;

	for (struct lang_var *v = p->block->vars; v; v = v->next)
		if (v->scope != UINT32_MAX && !strcmp(v->name, name))
			found = v;
	return found;
}

/*
 * Return a node for a variable. An unknown variable may be set here for the first time; lang_check() reports other
 * uses.
 */
static struct lang_node *var_node(struct lang_parser *p)
{
	struct lang_node *n = lang_node(p, LANG_N_VAR, p->lex.pos);

	n->var = find_var(p, p->lex.string);
	n->text = p->lex.string;
	lang_next(&p->lex);
	return n;
}

static struct lang_node *unary(struct lang_parser *p);

/* Parse the * after the type of a cast. */
static void pointer(struct lang_parser *p, struct lang_node *n, uint32_t bits, bool is_signed)
{
	n->type = (struct lang_type){ LANG_ADDRESS, false, is_signed, bits };
	n->value = 64;
	while (lang_accept(p, LANG_T_MUL))
		n->type = (struct lang_type){ LANG_ADDRESS, false, false, 64 };
}

/* Parse (int32)x, (int32 *)x, or an expression in parentheses. */
static struct lang_node *parenthesis(struct lang_parser *p)
{
	struct lang_node *n = lang_node(p, LANG_N_CAST, p->lex.pos);
	bool named, is_signed;
	uint32_t bits;

	lang_next(&p->lex);
	named = p->lex.token == LANG_T_WORD && lang_type_named(p->lex.string, &bits, &n->type.is_signed);
	if (p->lex.token == LANG_T_WORD && lang_target_named(p->lex.string, &bits, &is_signed)) {
		n->type.base = LANG_INT;
		n->value = bits;
		lang_next(&p->lex);
		if (lang_accept(p, LANG_T_MUL))
			pointer(p, n, bits, is_signed);
		else if (!named)
			lang_fail(p->l, n->pos, "printf(\"%f\", x) prints bits as a floating-point number",
				  "casts to "
				  "floating-point "
				  "types "
				  "are not "
				  "supported");
		lang_expect(p, LANG_T_CLOSE, "after the type");
		lang_enter_nesting(p);
		n->a = unary(p);
		p->depth--;
		return n;
	}
	n = lang_expression(p);
	if (p->lex.token == LANG_T_COMMA)
		lang_fail(p->l, p->lex.pos, "maps can have several keys: @x[a, b]", "tuples are not supported");
	lang_expect(p, LANG_T_CLOSE, "after the expression");
	return n;
}

static struct lang_node *number_node(struct lang_parser *p)
{
	struct lang_node *n = lang_node(p, LANG_N_NUMBER, p->lex.pos);

	n->value = p->lex.number;
	n->type = (struct lang_type){ LANG_INT, p->lex.number <= INT64_MAX };
	n->literal = true;
	lang_next(&p->lex);
	return n;
}

static struct lang_node *string_node(struct lang_parser *p)
{
	struct lang_node *n = lang_node(p, LANG_N_STRING, p->lex.pos);

	n->text = p->lex.string;
	n->type.base = LANG_TEXT;
	lang_next(&p->lex);
	return n;
}

static struct lang_node *primary(struct lang_parser *p)
{
	switch (p->lex.token) {
	case LANG_T_NUMBER:
		return number_node(p);
	case LANG_T_STRING:
		return string_node(p);
	case LANG_T_WORD:
		return word_node(p);
	case LANG_T_VAR:
		return var_node(p);
	case LANG_T_MAP:
		return map_node(p);
	case LANG_T_OPEN:
		return parenthesis(p);
	default:
		lang_fail(p->l, p->lex.pos, "an expression is a number, a word, @x, $x, or a combination of them",
			  "an expression is missing before %s", lang_token_text(p->lex.token));
		return lang_node(p, LANG_N_NUMBER, p->lex.pos);
	}
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

/* Refuse what the language does not have: $x.a, $x->a, 1.5. */
static void no_parts(struct lang_parser *p, const struct lang_node *a)
{
	if (p->lex.token == LANG_T_DOT && a->kind == LANG_N_NUMBER)
		lang_fail(p->l, p->lex.pos, "1500us is 1.5 ms; %f prints the bits of a kernel's argument",
			  "floating-point "
			  "numbers "
			  "are not "
			  "supported");
	else if (p->lex.token == LANG_T_DOT || p->lex.token == LANG_T_ARROW)
		lang_fail(p->l, p->lex.pos, "((uint32 *)arg0)[i] is a number at an address, str(arg0) the string there",
			  "%s cannot be used here: structs and tuples are not supported", lang_token_text(p->lex.token));
}

/* Parse the index in ((uint32 *)arg0)[tid]. */
static struct lang_node *elements(struct lang_parser *p, struct lang_node *a)
{
	uint32_t depth = p->depth;

	while (p->lex.token == LANG_T_LBRACKET && !p->l->failed) {
		struct lang_node *n = lang_node(p, LANG_N_READ, p->lex.pos);

		lang_next(&p->lex);
		lang_enter_nesting(p);
		n->a = a;
		n->b = lang_expression(p);
		lang_expect(p, LANG_T_RBRACKET, "after the index");
		a = n;
	}
	p->depth = depth;
	no_parts(p, a);
	return a;
}

static struct lang_node *postfix(struct lang_parser *p)
{
	struct lang_node *a = elements(p, primary(p));
	enum lang_token op = p->lex.token;
	uint32_t pos = p->lex.pos;

	if (op != LANG_T_INC && op != LANG_T_DEC)
		return a;
	lang_next(&p->lex);
	return step(p, a, op, pos, false);
}

static struct lang_node *unary(struct lang_parser *p)
{
	enum lang_token op = p->lex.token;
	uint32_t pos = p->lex.pos;
	struct lang_node *n;

	if (op == LANG_T_INC || op == LANG_T_DEC) {
		lang_next(&p->lex);
		return step(p, primary(p), op, pos, true);
	}
	if (op == LANG_T_AND)
		lang_fail(p->l, pos, "args.a is the value of an argument", "values have no address");
	if (op != LANG_T_SUB && op != LANG_T_NOT && op != LANG_T_INVERT && op != LANG_T_MUL)
		return postfix(p);
	lang_next(&p->lex);
	lang_enter_nesting(p);
	n = lang_node(p, op == LANG_T_MUL ? LANG_N_READ : LANG_N_UNARY, pos);
	n->op = op;
	n->a = unary(p);
	p->depth--;
	return n;
}

/* Is this / the end of the filter? It is if { follows. */
static bool ends_filter(struct lang_parser *p)
{
	struct lang_lex ahead = p->lex;

	if (!p->filter || p->lex.token != LANG_T_DIV)
		return false;
	lang_skip(&ahead);
	return ahead.at < p->l->size && p->l->text[ahead.at] == '{';
}

static struct lang_node *binary(struct lang_parser *p, uint32_t least)
{
	struct lang_node *a = unary(p), *n;

	while (operators[p->lex.token].precedence >= least && operators[p->lex.token].precedence && !ends_filter(p)) {
		n = lang_node(p, LANG_N_BINARY, p->lex.pos);
		n->op = p->lex.token;
		if (++p->operators > LANG_OPERATORS)
			lang_fail(p->l, n->pos, "use variables for parts of it",
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
	*var = (struct lang_var){ .name = name, .scope = p->depth };
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
