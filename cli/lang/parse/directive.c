/* SPDX-License-Identifier: Apache-2.0 */
/* Parses lines that begin with #, which stand between probes and declarations: #define, #include, #if and so on. */
#include <string.h>

#include "parse.h"

/* an #if, #ifdef or #ifndef without its #endif */
struct lang_condition {
	struct lang_condition *outer;
	uint32_t pos;
	bool is_else; /* its #else was read */
};

/* Return the end of the line at the position. A backslash at its end continues the line. */
static uint32_t line_end(const struct lang *l, uint32_t at, uint32_t end)
{
	while (at < end && (l->text[at] != '\n' || (at && l->text[at - 1] == '\\')))
		at++;
	return at;
}

static void define(struct lang_parser *p, uint32_t end)
{
	struct lang_define *d = lang_alloc(p->l, sizeof(*d));

	lang_next(&p->lex);
	if (!d)
		return;
	*d = (struct lang_define){ p->l->defines, p->lex.string, p->lex.at, end };
	if (p->lex.token != LANG_T_WORD)
		lang_fail(p->l, p->lex.pos, "#define LIMIT 100", "#define needs a name that has no definition yet");
	else if (p->lex.at < end && p->l->text[p->lex.at] == '(')
		lang_fail(p->l, p->lex.pos, lang_format(p->l, "write macro %s(x) { ... }", d->name),
			  "#define with parameters is not supported");
	p->l->defines = d;
	p->lex.at = end;
}

/* Read the word at the position, without replacing it. */
static const char *plain_word(struct lang_parser *p, uint32_t *at, uint32_t end)
{
	const char *text = p->l->text;
	uint32_t begin;

	while (*at < end && (text[*at] == ' ' || text[*at] == '\t'))
		++*at;
	for (begin = *at; *at < end && (lang_is_word(text[*at])); ++*at)
		;
	return lang_copy(p->l, text + begin, *at - begin);
}

static void undefine(struct lang_parser *p, uint32_t at, uint32_t end)
{
	const char *name = plain_word(p, &at, end);

	for (struct lang_define **d = &p->l->defines; name && *d;)
		if (!strcmp((*d)->name, name))
			*d = (*d)->next;
		else
			d = &(*d)->next;
}

static bool is_defined(struct lang *l, const char *name)
{
	static const char *const names[] = {
		"GPUBPF",
		"BPFTRACE",
#ifdef __x86_64__
		"__x86_64__",
#else
		"__aarch64__",
#endif
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return true;
	for (const struct lang_define *d = l->defines; d; d = d->next)
		if (!strcmp(d->name, name))
			return true;
	return !strcmp(name, "BPFTRACE_HAVE_BTF") && lang_btf(l);
}

/* -- conditions -- */

/* Evaluate the operands of #if: numbers, defined(NAME), ! and parentheses, with &&, || and comparisons. */
static int64_t condition(struct lang_parser *p, int level);

static int64_t operand(struct lang_parser *p)
{
	bool open;
	int64_t v = 0;

	if (lang_accept(p, LANG_T_NOT))
		return !operand(p);
	if (lang_accept(p, LANG_T_OPEN)) {
		lang_enter_nesting(p);
		v = condition(p, 0);
		p->depth--;
		lang_expect(p, LANG_T_CLOSE, "in the condition");
	} else if (p->lex.token == LANG_T_NUMBER) {
		v = (int64_t)p->lex.number;
		lang_next(&p->lex);
	} else if (lang_word_is(p, "defined")) {
		uint32_t at = p->lex.at, end = lang_end(&p->lex);

		while (at < end && p->l->text[at] == ' ')
			at++;
		open = at < end && p->l->text[at] == '(';
		at += open;
		v = is_defined(p->l, plain_word(p, &at, end));
		p->lex.at = at;
		lang_next(&p->lex);
		if (open)
			lang_expect(p, LANG_T_CLOSE, "after the name");
	} else if (p->lex.token == LANG_T_WORD) {
		lang_next(&p->lex); /* a name that is not defined is 0 */
	} else {
		lang_fail(p->l, p->lex.pos, "#if defined(NAME) && VERSION >= 5", "the condition is not complete");
	}
	return v;
}

static int level_of(enum lang_token op)
{
	return op == LANG_T_LOR  ? 1 :
	       op == LANG_T_LAND ? 2 :
	       op == LANG_T_EQ || op == LANG_T_NE || op == LANG_T_LT || op == LANG_T_LE || op == LANG_T_GT ||
			       op == LANG_T_GE ?
				   3 :
				   0;
}

static int64_t apply(enum lang_token op, int64_t a, int64_t b)
{
	switch (op) {
	case LANG_T_LOR:
		return a || b;
	case LANG_T_LAND:
		return a && b;
	case LANG_T_EQ:
		return a == b;
	case LANG_T_NE:
		return a != b;
	case LANG_T_LT:
		return a < b;
	case LANG_T_LE:
		return a <= b;
	case LANG_T_GT:
		return a > b;
	default:
		return a >= b;
	}
}

static int64_t condition(struct lang_parser *p, int level)
{
	int64_t v = operand(p);

	while (level_of(p->lex.token) > level && !p->l->failed) {
		enum lang_token op = p->lex.token;

		lang_next(&p->lex);
		v = apply(op, v, condition(p, level_of(op)));
	}
	return v;
}

/* Evaluate the condition from the lexer's position to the end of the line. */
static bool is_true(struct lang_parser *p, uint32_t end)
{
	struct lang_lex outer = p->lex;
	bool value;

	p->lex = (struct lang_lex){ .l = p->l, .at = outer.at, .limit = end };
	lang_next(&p->lex);
	value = condition(p, 0);
	if (!p->l->failed && p->lex.pos < end)
		lang_fail(p->l, p->lex.pos, "#if defined(NAME) && VERSION >= 5", "this is not expected in a condition");
	p->lex = outer;
	return value;
}

/* If the line is a directive, return its word and store the position after it. */
static const char *directive_word(struct lang_parser *p, uint32_t *at, uint32_t end)
{
	const char *text = p->l->text;

	while (*at < end && (text[*at] == ' ' || text[*at] == '\t'))
		++*at;
	if (*at == end || text[*at] != '#')
		return "";
	++*at;
	return plain_word(p, at, end);
}

/* Skip lines up to the #endif of this condition, or with `branches` up to an #else or #elif that is true. */
static void skip_lines(struct lang_parser *p, bool branches)
{
	uint32_t end = lang_end(&p->lex), nested = 0, at = p->lex.at, next;

	for (; at < end && !p->l->failed; at = next < end ? next + 1 : end) {
		uint32_t after = at;
		const char *word;

		next = line_end(p->l, at, end);
		word = directive_word(p, &after, next);
		p->lex.at = after;
		p->l->lexed += next - at;
		if (!word || !strncmp(word, "if", 2)) {
			nested++;
		} else if (!strcmp(word, "endif") && !nested--) {
			p->conditions = p->conditions->outer;
			p->lex.at = next;
			return;
		} else if (!nested && branches && (!strcmp(word, "else") || (!strcmp(word, "elif") && is_true(p, next)))) {
			p->conditions->is_else = !strcmp(word, "else");
			p->lex.at = next;
			return;
		}
	}
	p->lex.at = end;
	lang_fail(p->l, p->conditions->pos, "end it with #endif", "the condition is not terminated");
}

static void begin_condition(struct lang_parser *p, uint32_t pos, bool holds, uint32_t end)
{
	struct lang_condition *c = lang_alloc(p->l, sizeof(*c));

	if (!c)
		return;
	*c = (struct lang_condition){ p->conditions, pos, false };
	p->conditions = c;
	p->lex.at = end < lang_end(&p->lex) ? end + 1 : end;
	if (!holds)
		skip_lines(p, true);
}

static void other_branch(struct lang_parser *p, const char *word, uint32_t pos, uint32_t end)
{
	if (!p->conditions || p->conditions->is_else) {
		lang_fail(p->l, pos, "begin it with #ifdef NAME", "#%s is not in a condition", word);
		return;
	}
	p->lex.at = end < lang_end(&p->lex) ? end + 1 : end;
	skip_lines(p, false);
}

void lang_end_directives(struct lang_parser *p)
{
	if (p->conditions)
		lang_fail(p->l, p->conditions->pos, "end it with #endif", "the condition is not terminated");
}

/* -- lines -- */

/* Parse the name after #include: "file" or <header>. */
static void include(struct lang_parser *p, uint32_t pos, uint32_t at, uint32_t end)
{
	const char *text = p->l->text, *close;
	char mark;

	while (at < end && (text[at] == ' ' || text[at] == '\t'))
		at++;
	mark = at < end && text[at] == '<' ? '>' : '"';
	close = at < end && (text[at] == '<' || text[at] == '"') ? memchr(text + at + 1, mark, end - at - 1) : NULL;
	p->lex.at = end;
	if (!close)
		lang_fail(p->l, pos, "#include \"file.h\" or #include <sys/socket.h>", "#include needs the name of a file");
	else if (mark == '"')
		lang_include(p, lang_copy(p->l, text + at + 1, (size_t)(close - text) - at - 1), pos, end, false);
	else
		lang_include_header(p, lang_copy(p->l, text + at + 1, (size_t)(close - text) - at - 1), pos);
}

static void error(struct lang_parser *p, uint32_t pos, uint32_t at, uint32_t end)
{
	while (at < end && (p->l->text[at] == ' ' || p->l->text[at] == '\t'))
		at++;
	lang_fail(p->l, pos, "see the text around this line", "#error %.*s", (int)(end - at), p->l->text + at);
}

void lang_directive(struct lang_parser *p)
{
	uint32_t pos = p->lex.at, at = pos, end = line_end(p->l, pos, lang_end(&p->lex));
	const char *word = directive_word(p, &at, end);

	if (!word)
		return;
	p->lex.at = at;
	if (!strcmp(word, "define"))
		define(p, end);
	else if (!strcmp(word, "include"))
		include(p, pos, at, end);
	else if (!strcmp(word, "ifdef") || !strcmp(word, "ifndef"))
		begin_condition(p, pos, is_defined(p->l, plain_word(p, &at, end)) == !word[5], end);
	else if (!strcmp(word, "if"))
		begin_condition(p, pos, is_true(p, end), end);
	else if (!strcmp(word, "else") || !strcmp(word, "elif"))
		other_branch(p, word, pos, end);
	else if (!strcmp(word, "endif") && p->conditions)
		p->conditions = p->conditions->outer;
	else if (!strcmp(word, "undef"))
		undefine(p, at, end);
	else if (!strcmp(word, "error"))
		error(p, pos, at, end);
	else if (!strcmp(word, "endif"))
		lang_fail(p->l, pos, "begin it with #ifdef NAME", "#endif is not in a condition");
	else if (strcmp(word, "pragma"))
		lang_fail(p->l, pos,
			  "#define, #undef, #include, #ifdef, #ifndef, #if, #elif, #else, #endif and #error exist",
			  "#%.40s is not supported", word);
	if (!strcmp(word, "endif") || !strcmp(word, "undef") || !strcmp(word, "pragma"))
		p->lex.at = end;
}
