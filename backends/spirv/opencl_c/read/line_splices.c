/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces line splices (a backslash before a newline, C99 5.1.1.2, phase 2) by blanks. For clang a token begins at the
 * backslash that precedes it, so the offsets of names and braces would not match the text. If the splice is between two
 * tokens, a blank keeps the tokens, lines and offsets unchanged. A splice stays in directives, comments and strings,
 * inside a token, and where a macro could stringify the blank.
 */
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "definitions.h"

/* the text and the current position */
struct scan {
	char *text;
	size_t at;
	bool line_begins, directive;
	int depth; /* nesting depth of parentheses */
};

/* Returns the end of the backslash-newline pair at `at`, or `at` if there is no line splice. */
static size_t skip_splice(const char *text, size_t at)
{
	size_t end = at + 1;

	if (text[at] != '\\')
		return at;
	end += strspn(text + end, " \t\r\f\v");
	return text[end] == '\n' ? end + 1 : at;
}

static size_t skip_splices(const char *text, size_t at)
{
	size_t next;

	while ((next = skip_splice(text, at)) > at)
		at = next;
	return at;
}

static bool is_separator(char c)
{
	return c && strchr("(){}[];,", c);
}

static bool begins_directive(const char *text, size_t at)
{
	at += strspn(text + at, " \t\r\n\f\v");
	return text[at] == '#' || (text[at] == '%' && text[at + 1] == ':');
}

/*
 * Do the characters before and after the splice belong to two tokens? Inside parentheses, which may be a macro's
 * arguments, only blanks count as a boundary.
 */
static bool separates_tokens(const struct scan *r, size_t next)
{
	char before = r->at ? r->text[r->at - 1] : '\n', after = r->text[next];

	if (begins_directive(r->text, next))
		return false;
	return isspace((unsigned char)before) || isspace((unsigned char)after) ||
	       (!r->depth && (is_separator(before) || is_separator(after)));
}

static void blank_splices(struct scan *r, size_t next)
{
	bool blank = !r->directive && separates_tokens(r, next);

	for (; r->at < next; r->at++)
		if (blank && r->text[r->at] == '\\')
			r->text[r->at] = ' ';
}

/* Skip to the text `end`, which closes a comment or a string. A string also ends at the end of its line. */
static void skip_to(struct scan *r, const char *end)
{
	bool string = *end == '"' || *end == '\'';

	while (r->text[r->at] && strncmp(r->text + r->at, end, strlen(end)) && !(string && r->text[r->at] == '\n')) {
		size_t next = skip_splices(r->text, r->at);

		if (next == r->at)
			next += string && r->text[r->at] == '\\' && r->text[r->at + 1] ? 2 : 1;
		r->at = next;
	}
}

static void read_comment(struct scan *r)
{
	bool line = r->text[r->at + 1] == '/';

	r->at += 2;
	skip_to(r, line ? "\n" : "*/");
	r->at += !line && r->text[r->at] ? 2 : 0;
}

static void read_quoted(struct scan *r)
{
	const char quote[] = { r->text[r->at], 0 };

	r->at++;
	skip_to(r, quote);
	r->at += r->text[r->at] == quote[0];
	r->line_begins = false;
}

static void read_character(struct scan *r)
{
	char c = r->text[r->at];

	if (r->line_begins && begins_directive(r->text, r->at) && !isspace((unsigned char)c))
		r->directive = true;
	if (c == '\n')
		r->directive = false;
	if (!r->directive)
		r->depth += (c == '(') - (c == ')');
	r->line_begins = c == '\n' || (r->line_begins && isspace((unsigned char)c));
	r->at++;
}

void clread_blank_splices(char *text)
{
	struct scan r = { .text = text, .line_begins = true };

	while (text[r.at]) {
		size_t next = skip_splices(text, r.at);

		if (next > r.at)
			blank_splices(&r, next);
		else if (text[r.at] == '/' && (text[r.at + 1] == '/' || text[r.at + 1] == '*'))
			read_comment(&r);
		else if (text[r.at] == '"' || text[r.at] == '\'')
			read_quoted(&r);
		else
			read_character(&r);
	}
}
