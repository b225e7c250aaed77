/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the text of a function's definition, if a copy of the function under another name can repeat this text. */
#include <ctype.h>
#include <string.h>

#include "definitions.h"
#include "backends/spirv/opencl_c/event/walk.h"

static size_t offset_of(struct reader *r, CXSourceLocation where, bool *in_main)
{
	unsigned line, column, offset;
	CXFile file;

	clang_getExpansionLocation(where, &file, &line, &column, &offset);
	*in_main = file && clang_File_isEqual(file, r->main);
	return offset;
}

static enum CXChildVisitResult record_body(CXCursor c, CXCursor parent, CXClientData data)
{
	if (clang_getCursorKind(c) == CXCursor_CompoundStmt)
		*(CXCursor *)data = c;
	return CXChildVisit_Continue;
}

static const char by_macro[] = "code that a macro or a header produces";

/* -- the head -- */

/*
 * Does the macro expand to a name and nothing else? Its replacement must be one token, tokens joined by ##, or one
 * expansion of another macro of this kind.
 */
static bool expands_to_name(struct reader *r, const struct cl_body *b, int depth)
{
	unsigned i = b->first;
	struct cl_body of;

	if (i >= b->n || depth > 8 || b->kind[i] == CXToken_Punctuation)
		return false;
	for (uint32_t d = 0; d < r->ndefinitions; d++)
		if (!strcmp(r->unit->macro[d], b->token[i]) && (i + 1 == b->n || !strcmp(b->token[i + 1], "(")))
			return (i + 1 == b->n || !strcmp(b->token[b->n - 1], ")")) &&
			       clread_body(r, r->definition[d], &of) && expands_to_name(r, &of, depth + 1);
	while (i + 2 < b->n && !strcmp(b->token[i + 1], "##") && b->kind[i + 2] != CXToken_Punctuation)
		i += 2;
	return i + 1 == b->n;
}

/* Do the macro's arguments consist only of words that ## can join? */
static bool has_words(const char *text, size_t at, size_t end)
{
	while (at < end) {
		size_t blanks = strspn(text + at, " \t\r\n");
		bool word = isalnum((unsigned char)text[at]) || text[at] == '_';

		if (!word && !blanks && !strchr("(),", text[at]))
			return false;
		at += blanks ? blanks : 1;
		blanks = word ? strspn(text + at, " \t\r\n") : 0;
		if (blanks && (isalnum((unsigned char)text[at + blanks]) || text[at + blanks] == '_'))
			return false;
	}
	return true;
}

/*
 * Find the end of the function's name in the text. The text is the name, or the expansion of a macro that produces only
 * the name.
 */
static bool find_name(struct reader *r, struct gpubpf_cl_function *f)
{
	const char *text = r->source->text;
	struct cl_body b;

	for (uint32_t i = 0; i < r->nexpansions; i++) {
		const struct span *s = &r->expansion[i];

		if (s->start != f->name_at)
			continue;
		f->name_end = s->end;
		return has_words(text, s->start, s->end) && !clang_Cursor_isNull(clang_getCursorReferenced(s->cursor)) &&
		       clread_body(r, clang_getCursorReferenced(s->cursor), &b) && expands_to_name(r, &b, 0);
	}
	f->name_end = f->name_at + strlen(f->name);
	return !clread_in_expansion(r, f->name_at) && !strncmp(text + f->name_at, f->name, strlen(f->name));
}

/* Find the parentheses around the parameters, which follow the name. */
static void find_parameters(struct reader *r, CXSourceRange from, struct gpubpf_cl_function *f)
{
	CXToken *tokens = NULL;
	unsigned n = 0, i = 0;
	int depth = 0;
	bool in_main;

	clang_tokenize(r->tu, from, &tokens, &n);
	for (i = 0; i < n && !f->params_end; i++) {
		const char *text = clread_text(r, clang_getTokenSpelling(r->tu, tokens[i]));
		size_t at = offset_of(r, clang_getTokenLocation(r->tu, tokens[i]), &in_main);

		if (i == 0 && strcmp(text, "("))
			break;
		depth += !strcmp(text, "(") - !strcmp(text, ")");
		if (i == 0)
			f->params = at + 1;
		if (!depth)
			f->params_end = at;
	}
	clang_disposeTokens(r->tu, tokens, n);
}

static void find_head(struct reader *r, CXCursor c, struct gpubpf_cl_function *f)
{
	CXSourceLocation start = clang_getRangeStart(clang_getCursorExtent(c)), body;
	bool first, named;
	uint32_t mask = 0;

	f->start = offset_of(r, start, &first);
	f->name_at = offset_of(r, clang_getCursorLocation(c), &named);
	if (!first || !named || clread_in_expansion(r, f->start) || f->start > f->name_at || f->name_at >= f->body ||
	    !find_name(r, f))
		return;
	body = clang_getLocationForOffset(r->tu, r->main, f->body);
	if (!clread_why_not_repeatable(r, clang_getRange(start, body), false, &mask))
		find_parameters(r, clang_getRange(clang_getLocationForOffset(r->tu, r->main, f->name_end), body), f);
}

/* -- the body -- */

/* Find the text between the braces of the body. Returns false if a macro or a header produces the braces. */
static bool find_braces(struct reader *r, CXSourceRange range, size_t *body, size_t *end)
{
	const char *text = r->source->text;
	bool first, last;
	size_t open = offset_of(r, clang_getRangeStart(range), &first),
	       close = offset_of(r, clang_getRangeEnd(range), &last);

	if (!first || !last || open + 2 > close || close > r->source->size || text[open] != '{' ||
	    text[close - 1] != '}' || clread_in_expansion(r, open) || clread_in_expansion(r, close - 1))
		return false;
	*body = open + 1;
	*end = close - 1;
	return true;
}

/* Returns the file name that a #line directive sets for an offset, or NULL if no #line sets a name. */
static const char *named_file(struct reader *r, size_t at)
{
	CXString name, own = clang_getFileName(r->main);
	const char *file = NULL;

	clang_getPresumedLocation(clang_getLocationForOffset(r->tu, r->main, at), &name, NULL, NULL);
	if (strcmp(clang_getCString(name), clang_getCString(own)))
		file = gpubpf_pool_strndup(r->pool, clang_getCString(name), strlen(clang_getCString(name)));
	clang_disposeString(name);
	clang_disposeString(own);
	return file;
}

/*
 * Check that a copy of the body, inserted at offset `at`, can have the same value of __FILE__ as the body. Stores in
 * *file the name for a #line directive, or NULL. Returns the reason why the value would differ. Returns NULL if the
 * value is equal, or if no name in `mask` depends on the file name.
 */
static const char *find_file(struct reader *r, size_t body, size_t at, uint32_t mask, const char **file)
{
	const uint32_t reads = 1u << CLREAD_WORD_FILE | 1u << CLREAD_WORD_BASE_FILE | 1u << CLREAD_WORD_FILE_NAME |
			       1u << CLREAD_WORD_BUILTIN_FILE | 1u << CLREAD_WORD_PLACE;
	const char *first = named_file(r, body), *last = named_file(r, at);

	*file = NULL;
	if (first == last || (first && last && !strcmp(first, last)))
		return NULL;
	*file = first;
	return first || !(mask & reads) ? NULL : "code in which #line gives the file another name";
}

const char *clread_find_body(struct reader *r, CXCursor c, bool moved, struct gpubpf_cl_function *f)
{
	CXCursor body = clang_getNullCursor();
	uint32_t mask = 0;
	size_t end;

	clang_visitChildren(c, record_body, &body);
	if (!find_braces(r, clang_getCursorExtent(body), &f->body, &end) || !clread_find_place(r, c, &f->at))
		return by_macro;
	clread_line(r, f->at, &f->line, &f->column);
	f->why = clread_why_not_repeatable(r, clang_getCursorExtent(body), moved, &mask);
	f->why = f->why ? f->why : find_file(r, f->body, f->at, mask, &f->body_file);
	if (!f->why && mask >> CLREAD_WORD_PRETTY & 1 && !(f->pretty = clread_pretty(r, c)))
		f->why = "its code uses __PRETTY_FUNCTION__, and the twin cannot reproduce the value of that name";
	if (f->why)
		return f->why;
	f->end = end;
	clread_line(r, f->body, &f->body_line, &f->body_column);
	return NULL;
}

void clread_read_definition(struct reader *r, CXCursor c, uint32_t index)
{
	struct gpubpf_cl_function f = { .name = clread_text(r, clang_getCursorSpelling(c)) };

	f.why = clread_find_body(r, c, true, &f);
	if (f.end)
		find_head(r, c, &f);
	clread_events(r, c, &f);
	if (r->source->places & gpubpf_places_of(GPUBPF_WHERE_FUNCTION))
		clread_signature(r, c, &f);
	r->function[index].source = f;
}
