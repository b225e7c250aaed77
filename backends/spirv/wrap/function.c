/* SPDX-License-Identifier: Apache-2.0 */
/* A function's definition as text that can be written once more under another name. */
#include <string.h>

#include "reader.h"

static size_t offset_of(struct reader *r, CXSourceLocation where, bool *in_main)
{
	unsigned line, column, offset;
	CXFile file;

	clang_getExpansionLocation(where, &file, &line, &column, &offset);
	*in_main = file && clang_File_isEqual(file, r->main);
	return offset;
}

static enum CXChildVisitResult keep_body(CXCursor c, CXCursor parent, CXClientData data)
{
	if (clang_getCursorKind(c) == CXCursor_CompoundStmt)
		*(CXCursor *)data = c;
	return CXChildVisit_Continue;
}

/* The parentheses around its parameters, behind its name. */
static bool find_parameters(struct reader *r, CXSourceRange from, struct gpubpf_cl_function *f)
{
	CXToken *tokens = NULL;
	unsigned n = 0, i = 0;
	int depth = 0;
	bool in_main;

	clang_tokenize(r->tu, from, &tokens, &n);
	for (i = 1; i < n && !f->params_end; i++) {
		const char *text = clread_text(r, clang_getTokenSpelling(r->tu, tokens[i]));
		size_t at = offset_of(r, clang_getTokenLocation(r->tu, tokens[i]), &in_main);

		if (i == 1 && strcmp(text, "("))
			break;
		depth += !strcmp(text, "(") - !strcmp(text, ")");
		if (i == 1)
			f->params = at + 1;
		if (!depth)
			f->params_end = at;
	}
	clang_disposeTokens(r->tu, tokens, n);
	return f->params_end;
}

static bool find_text(struct reader *r, CXCursor c, struct gpubpf_cl_function *f)
{
	CXSourceRange extent = clang_getCursorExtent(c), range;
	CXCursor body = clang_getNullCursor();
	const char *text = r->source->text;
	bool first, last, named;
	size_t end;

	clang_visitChildren(c, keep_body, &body);
	range = clang_getCursorExtent(body);
	f->start = offset_of(r, clang_getRangeStart(extent), &first);
	f->name_at = offset_of(r, clang_getCursorLocation(c), &named);
	f->body = offset_of(r, clang_getRangeStart(range), &last) + 1;
	if (!first || !last || !named || clread_in_expansion(r, f->start) || clread_in_expansion(r, f->name_at))
		return false;
	end = offset_of(r, clang_getRangeEnd(range), &last);
	if (!last || f->start > f->name_at || f->name_at >= f->body || f->body >= end || end > r->source->size ||
	    text[f->body - 1] != '{' || text[end - 1] != '}' || clread_in_expansion(r, f->body - 1) ||
	    clread_in_expansion(r, end - 1) || strncmp(text + f->name_at, f->name, strlen(f->name)) ||
	    !clread_repeats(r, clang_getRange(clang_getRangeStart(extent), clang_getRangeEnd(range))) ||
	    !find_parameters(r, clang_getRange(clang_getCursorLocation(c), clang_getRangeEnd(range)), f) ||
	    !clread_place(r, c, &f->at))
		return false;
	f->end = end - 1;
	clread_line(r, f->body, &f->body_line, &f->body_column);
	clread_line(r, f->at, &f->line, &f->column);
	return true;
}

void clread_source(struct reader *r, CXCursor c, uint32_t index)
{
	struct gpubpf_cl_function f = { .name = clread_text(r, clang_getCursorSpelling(c)) };

	find_text(r, c, &f);
	clread_events(r, c, &f);
	if (r->source->places & gpubpf_places_of(GPUBPF_WHERE_FUNCTION))
		clread_signature(r, c, &f);
	r->function[index].source = f;
}
