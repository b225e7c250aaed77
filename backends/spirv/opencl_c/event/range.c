/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the source text of an expression that contains macros, if this text belongs to the expression only. For
 * libclang, the tokens of a macro's definition are at the position of the macro expansion. The tokens of a macro
 * argument are at their own position.
 */
#include <ctype.h>
#include <string.h>

#include "range.h"

/*
 * How tightly the replacement of a macro binds, in ascending order.
 *   OPEN: the replacement may contain only part of an expression.
 *   BALANCED: its brackets match, and no separator is outside of them.
 *   SIGNED: a minus sign and one token.
 *   POSTFIX: a postfix expression.
 *   ATOM: one token, or text in parentheses.
 */
enum { OPEN, BALANCED, SIGNED, POSTFIX, ATOM };

static size_t offset_of(struct reader *r, CXSourceLocation where, bool *in_main)
{
	unsigned line, column, offset;
	CXFile file;

	clang_getFileLocation(where, &file, &line, &column, &offset);
	*in_main = file && clang_File_isEqual(file, r->main);
	return offset;
}

static size_t name_size(const char *text)
{
	size_t n = 0;

	while (isalnum((unsigned char)text[n]) || text[n] == '_')
		n++;
	return n;
}

static bool is_macro(const struct reader *r, const char *name)
{
	for (uint32_t i = 0; i < r->unit->nmacros; i++)
		if (!strcmp(r->unit->macro[i], name))
			return true;
	return false;
}

/* -- the tokens of a macro -- */

static bool is_name(const struct cl_body *b, unsigned i)
{
	return b->kind[i] == CXToken_Identifier;
}

static bool is_param(const struct cl_body *b, unsigned i)
{
	for (unsigned k = 2; k < b->params; k++)
		if (!strcmp(b->token[k], b->token[i]))
			return true;
	return false;
}

/* Does the token mean the same whatever the macro's arguments are and whichever macros are defined? */
static bool is_independent(const struct reader *r, const struct cl_body *b, unsigned i)
{
	return b->kind[i] == CXToken_Literal || (is_name(b, i) && !is_param(b, i) && !is_macro(r, b->token[i]));
}

static int depth_of(const char *token)
{
	return strchr("([{", token[0]) && !token[1] ? 1 : strchr(")]}", token[0]) && !token[1] ? -1 : 0;
}

/* Returns the index after the bracket that closes the one at token i. Returns n + 1 if no bracket closes it. */
static unsigned skip_brackets(const struct cl_body *b, unsigned i)
{
	int depth = 0;

	do
		depth += depth_of(b->token[i]);
	while (++i < b->n && depth > 0);
	return depth ? b->n + 1 : i;
}

static bool is_balanced(const struct reader *r, const struct cl_body *b)
{
	int depth = 0;

	for (unsigned i = b->first; i < b->n; i++) {
		const char *t = b->token[i];

		depth += depth_of(t);
		if (depth < 0 || (!depth && (!strcmp(t, ",") || !strcmp(t, ";") || !strcmp(t, "=") || !strcmp(t, "{"))))
			return false;
		if (is_name(b, i) && (is_param(b, i) || is_macro(r, t)) && !depth)
			return false;
	}
	return !depth && b->n > b->first;
}

static int shape_of(const struct reader *r, const struct cl_body *b)
{
	unsigned i = b->first;

	if (i < b->n && !strcmp(b->token[i], "(") && skip_brackets(b, i) == b->n)
		return ATOM;
	if (i + 1 == b->n && is_independent(r, b, i))
		return ATOM;
	if (i + 2 == b->n && !strcmp(b->token[i], "-") && is_independent(r, b, i + 1))
		return SIGNED;
	if (i < b->n && !strcmp(b->token[i], "("))
		i = skip_brackets(b, i);
	else if (i < b->n && is_independent(r, b, i))
		i++;
	else
		return is_balanced(r, b) ? BALANCED : OPEN;
	while (i < b->n && i > b->first)
		if (!strcmp(b->token[i], "[") || !strcmp(b->token[i], "("))
			i = skip_brackets(b, i);
		else if ((!strcmp(b->token[i], ".") || !strcmp(b->token[i], "->")) && i + 1 < b->n &&
			 is_independent(r, b, i + 1))
			i += 2;
		else
			return is_balanced(r, b) ? BALANCED : OPEN;
	return i == b->n ? POSTFIX : OPEN;
}

/* Does the macro insert its arguments without changing them, whatever they contain? */
static bool passes_arguments_unchanged(const struct reader *r, const struct cl_body *b)
{
	for (unsigned i = b->first; i < b->n; i++)
		if (b->token[i][0] == '#' || (is_name(b, i) && is_macro(r, b->token[i])))
			return false;
	return true;
}

static unsigned offset_in_file(CXSourceLocation where)
{
	unsigned offset;

	clang_getSpellingLocation(where, NULL, NULL, NULL, &offset);
	return offset;
}

/*
 * Does a parenthesis follow the macro's name directly? The macro is then function-like. The function
 * clang_Cursor_isMacroFunctionLike() describes only the last definition of a name.
 */
static bool takes_arguments(const struct reader *r, CXToken name, CXToken next)
{
	return offset_in_file(clang_getRangeEnd(clang_getTokenExtent(r->tu, name))) ==
	       offset_in_file(clang_getRangeStart(clang_getTokenExtent(r->tu, next)));
}

bool clread_body(struct reader *r, CXCursor definition, struct cl_body *b)
{
	CXToken *tokens = NULL;
	bool function_like;

	*b = (struct cl_body){ 0 };
	clang_tokenize(r->tu, clang_getCursorExtent(definition), &tokens, &b->n);
	b->token = gpubpf_pool_alloc(r->pool, b->n, sizeof(*b->token));
	b->kind = gpubpf_pool_alloc(r->pool, b->n, sizeof(*b->kind));
	for (unsigned i = 0; b->token && b->kind && i < b->n; i++) {
		b->token[i] = clread_text(r, clang_getTokenSpelling(r->tu, tokens[i]));
		b->kind[i] = clang_getTokenKind(tokens[i]);
	}
	function_like = b->token && b->n > 1 && !strcmp(b->token[1], "(") && takes_arguments(r, tokens[0], tokens[1]);
	clang_disposeTokens(r->tu, tokens, b->n);
	if (!b->token || !b->kind)
		return false;
	b->first = 1;
	if (function_like)
		b->first = b->params = skip_brackets(b, 1);
	return true;
}

static void read_macro(struct reader *r, struct span *s)
{
	CXCursor definition = clang_getCursorReferenced(s->cursor);
	struct cl_body b;

	s->has_shape = true;
	s->passes_arguments = true;
	s->shape = ATOM; /* the default, for macros that clang defines, such as __LINE__ */
	if (clang_Cursor_isNull(definition) || clang_Cursor_isMacroBuiltin(definition))
		return;
	if (!clread_body(r, definition, &b))
		return;
	s->shape = shape_of(r, &b);
	s->passes_arguments = passes_arguments_unchanged(r, &b);
}

/* -- the text after a macro expansion -- */

/* May the name, which has n bytes, be a macro of the source or of clang's headers, such as "as_float"? */
static bool may_be_macro(const struct reader *r, const char *name, size_t n)
{
	for (uint32_t i = 0; i < r->unit->nmacros; i++)
		if (strlen(r->unit->macro[i]) == n && !memcmp(r->unit->macro[i], name, n))
			return true;
	return n > 3 &&
	       (!memcmp(name, "as_", 3) || (n == strlen("ATOMIC_VAR_INIT") && !memcmp(name, "ATOMIC_VAR_INIT", n)));
}

/*
 * May the macro's replacement or an argument end in the name of a function-like macro, which then takes its arguments
 * from the text after the expansion?
 */
static bool may_end_in_macro(struct reader *r, const struct span *s)
{
	CXCursor definition = clang_getCursorReferenced(s->cursor);
	const char *text = r->source->text;
	size_t at = s->start, n;
	struct cl_body b;

	if (clang_Cursor_isNull(definition) || clang_Cursor_isMacroBuiltin(definition))
		return false;
	if (!clread_body(r, definition, &b))
		return true;
	for (unsigned i = b.first; i < b.n; i++)
		if (b.token[i][0] == '#' ||
		    (b.kind[i] != CXToken_Punctuation && may_be_macro(r, b.token[i], strlen(b.token[i]))))
			return true;
	for (at += name_size(text + at); at < s->end; at += n ? n : 1) {
		n = name_size(text + at);
		if (n && may_be_macro(r, text + at, n))
			return true;
	}
	return false;
}

/* Returns the offset after blanks, comments and line splices. */
static size_t skip_blanks(const char *text, size_t at)
{
	while (true) {
		size_t before = at;

		at += strspn(text + at, " \t\r\n\f\v");
		if (text[at] == '\\' && text[at + 1] == '\n')
			at += 2;
		if (text[at] == '/' && text[at + 1] == '/')
			at += strcspn(text + at, "\n");
		if (text[at] == '/' && text[at + 1] == '*' && strstr(text + at + 2, "*/"))
			at = strstr(text + at + 2, "*/") + 2 - text;
		if (at == before)
			return at;
	}
}

/* Returns the offset after one character, or after the string or character constant that begins at `at`. */
static size_t skip_character(const char *text, size_t at)
{
	char quote = text[at] == '"' || text[at] == '\'' ? text[at] : 0;

	at++;
	while (quote && text[at] && text[at] != quote)
		at += text[at] == '\\' && text[at + 1] ? 2 : 1;
	return at + (quote && text[at]);
}

static int depth_at(const char *text, size_t at)
{
	return (text[at] == '(') - (text[at] == ')');
}

/*
 * Returns the offset after the parenthesis that closes the one at `at`. Returns the end of the text if none closes it.
 */
static size_t skip_parentheses(const char *text, size_t at)
{
	int depth = 0;

	for (; text[at]; at = skip_blanks(text, at)) {
		depth += depth_at(text, at);
		at = skip_character(text, at);
		if (!depth)
			break;
	}
	return at;
}

/*
 * Would a macro take the text as one argument? The text must have no comma outside of parentheses, and its parentheses
 * must match.
 */
static bool is_one_argument(const char *text, size_t at, size_t end)
{
	int depth = 0;

	for (at = skip_blanks(text, at); at < end; at = skip_blanks(text, skip_character(text, at))) {
		depth += depth_at(text, at);
		if (depth < 0 || (!depth && text[at] == ','))
			return false;
	}
	return !depth;
}

/*
 * If a macro's replacement contains the name of another macro, libclang does not report the expansion of the other
 * macro. That macro may take its arguments from the text after the reported expansion.
 */
void clread_find_arguments_end(struct reader *r)
{
	const char *text = r->source->text;

	for (uint32_t i = 0; i < r->nexpansions && !r->has_arguments_end; i++) {
		struct span *s = &r->expansion[i];
		size_t at = s->end <= r->source->size ? skip_blanks(text, s->end) : s->end;

		if (at >= r->source->size || text[at] != '(' || !may_end_in_macro(r, s))
			continue;
		for (; text[at] == '('; at = skip_blanks(text, s->arguments_end))
			s->arguments_end = skip_parentheses(text, at);
	}
	r->has_arguments_end = true;
}

/* -- the text around an expression -- */

static bool delimits_left(const char *text, size_t at)
{
	while (at && isspace((unsigned char)text[at - 1]))
		at--;
	if (!at)
		return false;
	if (text[at - 1] == '=')
		return at > 1 && !strchr("=!<>", text[at - 2]);
	return strchr("(,;{}[", text[at - 1]) != NULL;
}

static bool delimits_right(const char *text, size_t at, size_t size)
{
	while (at < size && isspace((unsigned char)text[at]))
		at++;
	return at < size && strchr("),;]}", text[at]) != NULL;
}

static bool is_selected(const char *text, size_t at)
{
	while (at && isspace((unsigned char)text[at - 1]))
		at--;
	return at && (text[at - 1] == '.' || (at > 1 && text[at - 1] == '>' && text[at - 2] == '-'));
}

/*
 * Returns how tightly a macro expansion that overlaps the range binds (OPEN to ATOM). Sets *edge if the expansion
 * produces the first or last token of the range.
 */
static int shape_at(struct reader *r, struct span *s, const struct cl_range *range, bool *edge)
{
	bool left = range->start == s->start, right = range->end == s->arguments_end;

	if (range->start <= s->start && s->arguments_end <= range->end && !left && !right)
		return ATOM; /* the expansion lies strictly inside the range */
	if (!s->has_shape)
		read_macro(r, s);
	if (s->start < range->start && range->end < s->end)
		return s->passes_arguments && is_one_argument(r->source->text, range->start, range->end) ? ATOM : OPEN;
	if (s->arguments_end > s->end || range->start > s->start || range->end < s->end)
		return OPEN;
	*edge = true;
	if (s->shape == SIGNED && left && !right)
		return BALANCED;
	if (s->shape >= SIGNED && !left && is_selected(r->source->text, s->start))
		return s->shape == ATOM ? ATOM : OPEN;
	return s->shape;
}

/* -- the end of an expression -- */

/* Returns the end of the comment or literal that begins at `at`. Returns `at` if none begins there. */
static size_t skip_comment_or_literal(const char *text, size_t at, size_t size)
{
	char first = text[at], second = at + 1 < size ? text[at + 1] : 0;
	size_t i = at + 1;

	if (first == '/' && second == '*') {
		for (i = at + 3; i < size && !(text[i - 1] == '*' && text[i] == '/'); i++)
			;
	} else if (first == '/' && second == '/') {
		while (i < size && text[i] != '\n')
			i++;
	} else if (first == '"' || first == '\'') {
		for (; i < size && text[i] != first && text[i] != '\n'; i++)
			i += text[i] == '\\';
	} else {
		return at;
	}
	return i < size ? i + 1 : size;
}

static int unclosed_parentheses(const char *text, const struct cl_range *range, size_t size)
{
	int depth = 0;

	for (size_t at = range->start, next; at < range->end; at = next) {
		next = skip_comment_or_literal(text, at, size);
		if (next == at)
			depth += (text[at] == '(') - (text[next++] == ')');
	}
	return depth;
}

/*
 * Extends the range over the closing parentheses that follow it, as long as the range contains unclosed parentheses.
 * Returns false if some stay unclosed.
 */
bool clread_extend_to_parenthesis(const struct reader *r, struct cl_range *range)
{
	const char *text = r->source->text;
	size_t size = r->source->size, at = range->end;
	int depth = unclosed_parentheses(text, range, size);

	/* a parenthesis that a macro produces is closed by the same expansion */
	for (uint32_t i = 0; i < r->nexpansions; i++)
		if (range->start <= r->expansion[i].start && r->expansion[i].start < range->end &&
		    range->end < r->expansion[i].end)
			return true;
	while (depth > 0 && at < size && (isspace((unsigned char)text[at]) || strchr("/\\)", text[at]))) {
		size_t next = text[at] == '/' ? skip_comment_or_literal(text, at, size) : at + 1;

		if (next == at)
			return false;
		if (text[at] == ')') {
			depth--;
			range->end = next;
		}
		at = next;
	}
	return depth <= 0;
}

struct cl_range clread_range(struct reader *r, CXSourceRange extent, const struct cl_range *enclosing, bool transparent)
{
	struct cl_range range = { 0 };
	bool first, last, edge = false, same;
	int shape;

	range.start = offset_of(r, clang_getRangeStart(extent), &first);
	range.end = offset_of(r, clang_getRangeEnd(extent), &last);
	if (!first || !last || range.start >= range.end || range.end > r->source->size)
		return range;
	shape = clread_extend_to_parenthesis(r, &range) ? ATOM : OPEN;
	for (uint32_t i = 0; i < r->nexpansions; i++) {
		struct span *s = &r->expansion[i];
		int one = s->start < range.end && range.start < s->arguments_end ? shape_at(r, s, &range, &edge) : ATOM;

		shape = one < shape ? one : shape;
	}
	same = enclosing && enclosing->start == range.start && enclosing->end == range.end;
	if (edge && same)
		range.exact = transparent && enclosing->exact;
	else
		range.exact = shape > BALANCED || (shape == BALANCED && delimits_left(r->source->text, range.start) &&
						   delimits_right(r->source->text, range.end, r->source->size));
	return range;
}
