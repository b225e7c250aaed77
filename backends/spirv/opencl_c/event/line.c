/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: adds one event for each source line that executes something, before the first statement that begins in the
 * line.
 * Before: the walk reaches a statement.
 * After: the function has an event for the line. A probed copy puts the statement and its semicolon into braces. If
 * code uses the statement's value, the copy puts the expression into parentheses. For a declaration with an
 * initialiser, the copy inserts the call of the BPF programs before the declaration.
 * Requires: the expansions of all macros have been recorded.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/model/places.h"
#include "walk.h"

static enum CXChildVisitResult find_initializer(CXCursor c, CXCursor parent, CXClientData data)
{
	bool *found = data;

	*found = clang_getCursorKind(c) == CXCursor_VarDecl && !clang_Cursor_isNull(clang_Cursor_getVarDeclInitializer(c));
	return *found ? CXChildVisit_Break : CXChildVisit_Continue;
}

/*
 * Does the statement execute code, apart from its substatements? Compound statements, labels and declarations without
 * an initialiser do not.
 */
static bool is_executed(CXCursor c)
{
	bool found = false;

	switch (clang_getCursorKind(c)) {
	case CXCursor_CompoundStmt:
	case CXCursor_NullStmt:
	case CXCursor_CaseStmt:
	case CXCursor_DefaultStmt:
	case CXCursor_LabelStmt:
		return false;
	case CXCursor_DeclStmt:
		clang_visitChildren(c, find_initializer, &found);
		return found;
	default:
		return true;
	}
}

/*
 * Returns the statement's file and line as FILE:LINE, considering #line. Returns NULL if the line already has an event.
 */
static const char *new_line_name(struct walk *w, CXCursor c)
{
	char name[GPUBPF_PLACE_NAME];
	unsigned line, column;
	CXString file;

	clang_getPresumedLocation(clang_getRangeStart(clang_getCursorExtent(c)), &file, &line, &column);
	gpubpf_place_line_name(clread_text(w->r, file), line, name, sizeof(name));
	for (uint32_t i = 0; i < w->f->nevents; i++)
		if (w->f->event[i].form == CLREAD_LINE && !strcmp(w->f->event[i].name, name))
			return NULL;
	return gpubpf_pool_strndup(w->r->pool, name, strlen(name));
}

static size_t expansion_offset(const struct reader *r, CXSourceLocation where, bool *in_main)
{
	unsigned line, column, offset;
	CXFile file;

	clang_getExpansionLocation(where, &file, &line, &column, &offset);
	*in_main &= file && clang_File_isEqual(file, r->main);
	return offset;
}

/*
 * Find the statement's text. If a macro expansion begins where the statement begins, the text includes the complete
 * expansion. Returns false if the text is not in the main file, or begins or ends inside a macro expansion.
 */
static bool find_text(const struct reader *r, CXCursor c, struct cl_range *range)
{
	bool in_main = true;

	range->start = expansion_offset(r, clang_getRangeStart(clang_getCursorExtent(c)), &in_main);
	range->end = expansion_offset(r, clang_getRangeEnd(clang_getCursorExtent(c)), &in_main);
	for (uint32_t i = 0; in_main && i < r->nexpansions; i++) {
		const struct span *s = &r->expansion[i];

		if (s->start == range->start && range->end < s->end)
			range->end = s->end;
	}
	for (uint32_t i = 0; in_main && i < r->nexpansions; i++) {
		const struct span *s = &r->expansion[i];

		if ((s->start < range->start && range->start < s->end) || (s->start < range->end && range->end < s->end))
			return false;
	}
	return in_main && range->start < range->end && range->end <= r->source->size &&
	       clread_extend_to_parenthesis(r, range);
}

/*
 * Extend the text by the semicolon that follows. Returns false if the text then ends neither with a semicolon nor with
 * a brace.
 */
static bool find_end(const struct reader *r, struct cl_range *range)
{
	const char *text = r->source->text;
	size_t at = range->end;

	while (at < r->source->size && isspace((unsigned char)text[at]))
		at++;
	if (at < r->source->size && text[at] == ';')
		range->end = at + 1;
	return text[range->end - 1] == ';' || text[range->end - 1] == '}';
}

void clread_walk_line(struct walk *w, CXCursor cursor, const struct node *enclosing, bool value)
{
	struct node n = clread_node_of(w, cursor, enclosing, NOTHING);
	struct cl_event *e;
	const char *name;

	if (!(w->r->source->places & GPUBPF_SITE_BIT(LINE)) || !is_executed(cursor) || !(name = new_line_name(w, cursor)))
		return;
	n.range.exact = find_text(w->r, cursor, &n.range) && find_end(w->r, &n.range);
	if (clang_getCursorKind(cursor) == CXCursor_DeclStmt)
		n.range.end = n.range.start;
	e = clread_add_event(w, CLREAD_LINE, &n);
	if (!e)
		return;
	e->name = name;
	e->value_first = value;
	if (!e->unseen && clang_getCursorKind(cursor) == CXCursor_UnexposedStmt)
		e->unseen = "a statement with attributes";
}
