/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: replaces expansions of macros by their text. This applies to macros that produce only part of an expression
 * that a probed copy replaces. With such a macro the source does not show where the expression begins and ends.
 * Before: the unit's events and macro expansions are known. The caller reads the resulting source again.
 * After: the compiler sees the same tokens, on the lines where the expansions begin.
 * Requires: clread_find_arguments_end() has run.
 *
 * As in the preprocessor (OpenCL C 6.10, C99 6.10.3), arguments are expanded before they are inserted into the macro's
 * definition. Macros inside a definition are replaced in the next pass. A macro whose expanded arguments still contain
 * macros other than constants is also replaced in the next pass.
 *
 * An expansion stays unchanged if its replacement could change the meaning. BPF programs at its place are then refused.
 * This applies to macros with #, ## or "...", to recursive macros, and to macros that the source does not define. It
 * also applies to expansions that involve __LINE__ or __COUNTER__, and to an argument whose expansion contains a comma.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "range.h"

enum { MAX_ARGUMENTS = 32, MAX_VISITS = 10000, MAX_DEPTH = 32 };

struct expansion_state {
	struct reader *r;
	const char *text;
	uint32_t visits, depth, replaced;
	bool several_lines; /* the text of the current macro expansion spans several lines */
};

struct part {
	size_t start, end;
};

static bool expand_use(struct expansion_state *x, struct span *s, FILE *out);

/* -- definitions -- */

/* Is the name, which has n bytes, in the NULL-terminated list? */
static bool is_one_of(const char *const *names, const char *name, size_t n)
{
	while (*names && (strlen(*names) != n || memcmp(*names, name, n)))
		names++;
	return *names;
}

static const char *const line_names[] = { "__LINE__", "__builtin_LINE", NULL };
static const char *const positional_names[] = { "__COUNTER__", "__builtin_COLUMN", "__builtin_source_location", NULL };

/*
 * Would the predefined name have another value after the replacement? __LINE__ keeps its value if the macro expansion
 * is on one line.
 */
static bool changes_value(const struct expansion_state *x, const char *name, size_t n)
{
	return is_one_of(positional_names, name, n) || (x->several_lines && is_one_of(line_names, name, n));
}

/* Does the value of the predefined name depend on its position in the text? */
static bool depends_on_place(const char *name)
{
	return is_one_of(positional_names, name, strlen(name)) || is_one_of(line_names, name, strlen(name));
}

static bool is_of_source(const struct expansion_state *x, CXCursor definition)
{
	unsigned line, column, offset;
	CXFile file;

	if (clang_Cursor_isNull(definition) || clang_Cursor_isMacroBuiltin(definition))
		return false;
	clang_getFileLocation(clang_getCursorLocation(definition), &file, &line, &column, &offset);
	return file && clang_File_isEqual(file, x->r->main);
}

/* Is the token a name? Macros and their parameters may have the names of OpenCL C keywords. */
static bool is_word(const struct cl_body *b, unsigned i)
{
	return b->kind[i] == CXToken_Identifier || b->kind[i] == CXToken_Keyword;
}

/*
 * Returns true if the macro must not be replaced, because its expansion may contain `name`, or depends on blanks and
 * lines (#, "...", __LINE__). The search follows all definitions of each macro. Beyond MAX_VISITS or MAX_DEPTH the
 * function returns true.
 */
static bool leads_to(struct expansion_state *x, const struct cl_body *b, const char *name)
{
	bool found = ++x->visits > MAX_VISITS || ++x->depth > MAX_DEPTH;

	for (unsigned i = 1; i < b->n && !found; i++) {
		found = b->token[i][0] == '#' || !strcmp(b->token[i], "...") || depends_on_place(b->token[i]);
		if (found || i < b->first || !is_word(b, i))
			continue;
		found = !strcmp(b->token[i], name);
		for (uint32_t d = 0; d < x->r->ndefinitions && !found; d++) {
			struct cl_body of;

			if (strcmp(x->r->unit->macro[d], b->token[i]))
				continue;
			found = !clread_body(x->r, x->r->definition[d], &of) || leads_to(x, &of, name);
		}
	}
	x->depth--;
	return found;
}

static bool can_replace(struct expansion_state *x, const struct cl_body *b)
{
	x->visits = x->depth = 0;
	return b->n && !leads_to(x, b, b->token[0]);
}

/* -- arguments -- */

/*
 * Returns the end of the comment, string or character constant that begins at `at`. Returns `at` if none begins there.
 */
static size_t skip_whole(const char *text, size_t at, size_t end)
{
	char quote = text[at];

	if (at + 1 < end && quote == '/' && text[at + 1] == '/')
		return at + strcspn(text + at, "\n");
	if (at + 1 < end && quote == '/' && text[at + 1] == '*') {
		const char *close = strstr(text + at + 2, "*/");

		return close ? (size_t)(close + 2 - text) : end;
	}
	if (quote != '"' && quote != '\'')
		return at;
	while (++at < end && text[at] != quote)
		at += text[at] == '\\';
	return at < end ? at + 1 : end;
}

static bool is_comment(const char *text, size_t at, size_t after)
{
	return after > at && text[at] == '/';
}

static size_t name_end(const char *text, size_t at)
{
	while (isalnum((unsigned char)text[at]) || text[at] == '_')
		at++;
	return at;
}

/*
 * Split the arguments of a macro at the commas. Returns the number of arguments. Returns -1 if there are more than
 * MAX_ARGUMENTS, or if the macro's text continues after the closing parenthesis.
 */
static int find_arguments(const char *text, const struct span *s, struct part *argument)
{
	size_t at = s->start, after;
	int n = 0, depth = 0;

	at = name_end(text, at);
	while (at < s->end && text[at] != '(')
		at = (after = skip_whole(text, at, s->end)) > at ? after : at + 1;
	argument[0].start = at + 1;
	for (; at<s->end; at = (after = skip_whole(text, at, s->end))> at ? after : at + 1) {
		bool parts = depth == 1 && (text[at] == ',' || text[at] == ')');

		depth += (text[at] == '(') - (text[at] == ')');
		if (!parts)
			continue;
		argument[n++].end = at;
		if (text[at] == ')')
			return at + 1 == s->end ? n : -1;
		if (n == MAX_ARGUMENTS)
			return -1;
		argument[n].start = at + 1;
	}
	return -1;
}

/*
 * Returns the longest macro expansion that begins at `at` and ends at or before `end`, or NULL. The shorter expansions
 * that begin there are part of the longest one.
 */
static struct span *use_at(const struct expansion_state *x, size_t at, size_t end)
{
	struct span *longest = NULL;

	for (uint32_t i = 0; i < x->r->nexpansions && name_end(x->text, at) > at; i++) {
		struct span *s = &x->r->expansion[i];

		if (s->start == at && s->end <= end && (!longest || s->end > longest->end))
			longest = s;
	}
	return longest;
}

/*
 * Copy one character or literal. A comment, newline or line splice becomes a blank, so that the replacement stays on
 * one line.
 */
static void copy_flat(const char *text, size_t *at, size_t end, FILE *out)
{
	size_t after = skip_whole(text, *at, end);

	if (is_comment(text, *at, after))
		fputc(' ', out);
	else if (after > *at)
		fwrite(text + *at, 1, after - *at, out);
	else if (text[*at] == '\\' && text[*at + 1] == '\n')
		after = *at + 2;
	else
		fputc(text[*at] == '\n' ? ' ' : text[*at], out);
	*at = after > *at ? after : *at + 1;
}

/*
 * Would a macro take the text as more than one argument? Returns true also if the parentheses in the text do not match.
 */
static bool is_several_arguments(const char *text)
{
	size_t end = strlen(text), after;
	int depth = 0;

	for (size_t at = 0; at<end; at = (after = skip_whole(text, at, end))> at ? after : at + 1) {
		depth += (text[at] == '(') - (text[at] == ')');
		if (depth < 0 || (!depth && text[at] == ','))
			return true;
	}
	return depth != 0;
}

/* Does the macro's definition consist of literals, keywords and punctuation, without a comma outside of parentheses? */
static bool is_constant(const struct expansion_state *x, const struct cl_body *b)
{
	int depth = 0;

	for (unsigned i = b->first; i < b->n && depth >= 0; i++) {
		const char *t = b->token[i];

		depth += (t[0] == '(') - (t[0] == ')');
		if (b->kind[i] == CXToken_Identifier || t[0] == '#' || (!depth && t[0] == ','))
			return false;
		for (uint32_t k = 0; b->kind[i] == CXToken_Keyword && k < x->r->unit->nmacros; k++)
			if (!strcmp(x->r->unit->macro[k], t))
				return false;
	}
	return b->n && !b->params && !depth;
}

/*
 * May the name, which has n bytes, stay in an argument that is inserted into a definition? Yes if no macro has that
 * name. Yes also if each macro of that name is a constant, such as -DSIZE=16. In that case, the preprocessor replaces
 * the inserted name by the same tokens.
 */
static bool may_stay(const struct expansion_state *x, const char *name, size_t n)
{
	for (uint32_t i = 0; i < x->r->ndefinitions; i++) {
		struct cl_body b;

		if (strlen(x->r->unit->macro[i]) != n || memcmp(x->r->unit->macro[i], name, n))
			continue;
		if (!clread_body(x->r, x->r->definition[i], &b) || !is_constant(x, &b))
			return false;
	}
	return true;
}

/*
 * Does the text contain the name of a macro that may still be expanded, on its own or together with the text after it?
 */
static bool contains_macro(const struct expansion_state *x, const char *text)
{
	size_t end = strlen(text), after;

	for (size_t at = 0; at<end; at = after> at ? after : at + 1) {
		after = name_end(text, at);
		if (after > at && !may_stay(x, text + at, after - at))
			return true;
		if (after == at)
			after = skip_whole(text, at, end);
	}
	return false;
}

/*
 * Returns the argument's text after expanding its macros; the caller frees it. Returns NULL if the macro that takes the
 * argument must stay unchanged.
 */
static char *expand_argument(struct expansion_state *x, const struct part *argument)
{
	char *made = NULL;
	size_t size, at = argument->start;
	FILE *out = open_memstream(&made, &size);
	bool good = out;

	while (good && at < argument->end) {
		struct span *s = use_at(x, at, argument->end);

		if (!s) {
			good = x->text[at] != '#' && !changes_value(x, x->text + at, name_end(x->text, at) - at);
			copy_flat(x->text, &at, argument->end, out);
			continue;
		}
		if (is_of_source(x, clang_getCursorReferenced(s->cursor)))
			good = expand_use(x, s, out);
		else if (changes_value(x, x->text + at, name_end(x->text, at) - at))
			good = false;
		else
			while (at < s->end)
				copy_flat(x->text, &at, s->end, out);
		at = s->end;
	}
	if (!out || fclose(out))
		good = false;
	if (good && !is_several_arguments(made))
		return made;
	free(made);
	return NULL;
}

/* -- uses -- */

static void write_replacement(struct expansion_state *x, const struct cl_body *b, char *const *argument, FILE *out)
{
	for (unsigned i = b->first; i < b->n; i++) {
		const char *token = b->token[i];

		for (unsigned p = 2, n = 0; p < b->params && is_word(b, i); p++) {
			if (!is_word(b, p))
				continue;
			if (!strcmp(b->token[p], b->token[i]))
				token = argument[n];
			n++;
		}
		if (b->kind[i] != CXToken_Comment)
			fprintf(out, " %s", token);
	}
	fputc(' ', out);
	x->replaced++;
}

static int params_of(const struct cl_body *b)
{
	int n = 0;

	for (unsigned p = 2; p < b->params; p++)
		n += is_word(b, p);
	return n;
}

/* Write the macro's name again with the expanded arguments. */
static void write_use(const char *name, char *const *argument, int n, FILE *out)
{
	fprintf(out, "%s(", name);
	for (int i = 0; i < n; i++)
		fprintf(out, i ? ",%s" : "%s", argument[i]);
	fputc(')', out);
}

static bool expand_with_arguments(struct expansion_state *x, struct span *s, const struct cl_body *b, FILE *out)
{
	struct part where[MAX_ARGUMENTS] = { 0 };
	int n = find_arguments(x->text, s, where), wanted = params_of(b);
	char *argument[MAX_ARGUMENTS + 1] = { 0 };
	bool good = n == wanted || (n == 1 && !wanted), has_nested_use = false;

	for (int i = 0; i < n && good; i++) {
		good = (argument[i] = expand_argument(x, &where[i]));
		has_nested_use |= good && contains_macro(x, argument[i]);
	}
	if (good && has_nested_use)
		write_use(b->token[0], argument, n, out);
	else if (good)
		write_replacement(x, b, argument, out);
	for (int i = 0; i < n; i++)
		free(argument[i]);
	return good;
}

static bool expand_use(struct expansion_state *x, struct span *s, FILE *out)
{
	CXCursor definition = clang_getCursorReferenced(s->cursor);
	struct cl_body b;

	if (!is_of_source(x, definition) || !clread_body(x->r, definition, &b) || !can_replace(x, &b))
		return false;
	if (b.params)
		return expand_with_arguments(x, s, &b, out);
	write_replacement(x, &b, NULL, out);
	return true;
}

/* -- the source -- */

/*
 * Mark the macro expansions that overlap the event's text. Then mark the expansions that overlap the marked ones, until
 * no more are found.
 */
static void mark_uses(struct reader *r, const struct cl_event *e)
{
	size_t start = e->start, end = e->end;
	bool more = true;

	while (more) {
		more = false;
		for (uint32_t i = 0; i < r->nexpansions; i++) {
			struct span *s = &r->expansion[i];

			if (s->hides || s->start >= end || s->arguments_end <= start)
				continue;
			s->hides = more = true;
			start = s->start < start ? s->start : start;
			end = s->arguments_end > end ? s->arguments_end : end;
		}
	}
}

static bool mark_hiding_uses(struct reader *r)
{
	bool any = false;

	for (uint32_t i = 0; i < r->unit->nfunctions; i++)
		for (uint32_t k = 0; k < r->unit->function[i].nevents; k++) {
			const struct cl_event *e = &r->unit->function[i].event[k];

			if (!e->by_macro || e->form == CLREAD_LINE || !r->unit->function[i].end)
				continue;
			mark_uses(r, e);
			any = true;
		}
	return any;
}

static int compare(const void *a, const void *b)
{
	const struct span *x = *(const struct span *const *)a, *y = *(const struct span *const *)b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end < y->end) - (x->end > y->end);
}

/*
 * Write the replacement of a macro expansion, followed by as many newlines as its text contained. Returns false if the
 * expansion must stay unchanged.
 */
static bool replace_use(struct expansion_state *x, struct span *s, FILE *to)
{
	char *made = NULL;
	size_t size;
	uint32_t before = x->replaced;
	FILE *out = open_memstream(&made, &size);
	bool good = out;

	x->several_lines = memchr(x->text + s->start, '\n', s->end - s->start);
	good = good && expand_use(x, s, out);
	if (!out || fclose(out))
		good = false;
	if (good)
		fwrite(made, 1, size, to);
	for (size_t at = s->start; at < s->end && good; at++)
		if (x->text[at] == '\n')
			fputs("\n", to);
	if (!good)
		x->replaced = before;
	free(made);
	return good;
}

const char *clread_expanded(struct reader *r)
{
	struct expansion_state x = { .r = r, .text = r->source->text };
	struct span **list = gpubpf_pool_alloc(r->pool, r->nexpansions + 1, sizeof(*list));
	const char *result = NULL;
	char *made = NULL;
	size_t size, at = 0;
	uint32_t n = 0;
	FILE *out;

	if (!list || !mark_hiding_uses(r))
		return NULL;
	for (uint32_t i = 0; i < r->nexpansions; i++)
		if (r->expansion[i].hides)
			list[n++] = &r->expansion[i];
	qsort(list, n, sizeof(*list), compare);
	out = open_memstream(&made, &size);
	for (uint32_t i = 0; i < n && out; i++) {
		if (list[i]->start < at)
			continue; /* this expansion lies inside an earlier one */
		fwrite(x.text + at, 1, list[i]->start - at, out);
		at = list[i]->start;
		if (!replace_use(&x, list[i], out))
			fwrite(x.text + at, 1, list[i]->end - at, out);
		at = list[i]->end;
	}
	if (out)
		fputs(x.text + at, out);
	if (out && !fclose(out) && x.replaced)
		result = gpubpf_pool_strndup(r->pool, made, size);
	free(made);
	return result;
}
