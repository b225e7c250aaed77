/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds marks, the uses of the macro GPUBPF_MARK(name, value) of include/gpubpf/mark.h. The macro expands to a loop
 * that runs once. The name of the first variable in the loop contains the mark's name. A probed copy replaces the text
 * of the macro expansion.
 */
#include <ctype.h>
#include <string.h>

#include "walk.h"

#define MACRO "GPUBPF_MARK"
#define VARIABLE "gpubpf_mark_"

/* Returns the variable that a mark declares in its loop. Returns the null cursor if the loop is not a mark. */
static CXCursor mark_variable(struct walk *w, CXCursor loop)
{
	static const enum CXCursorKind kinds[] = { CXCursor_CompoundStmt, CXCursor_DeclStmt, CXCursor_VarDecl };
	CXCursor c = loop;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		c = clread_first_child(c);
		if (clang_Cursor_isNull(c) || clang_getCursorKind(c) != kinds[i])
			return clang_getNullCursor();
	}
	if (strncmp(clread_text(w->r, clang_getCursorSpelling(c)), VARIABLE, strlen(VARIABLE)))
		return clang_getNullCursor();
	return c;
}

/*
 * Returns the expansion of GPUBPF_MARK that produced the loop. Returns NULL if another macro produced the loop, or the
 * expansion is in a header.
 */
static const struct span *find_mark_use(const struct reader *r, CXCursor loop)
{
	CXSourceLocation where = clang_getRangeStart(clang_getCursorExtent(loop));
	unsigned line, column, offset;
	CXFile file;

	clang_getExpansionLocation(where, &file, &line, &column, &offset);
	if (!file || !clang_File_isEqual(file, r->main))
		return NULL;
	for (uint32_t i = 0; i < r->nexpansions; i++) {
		const struct span *s = &r->expansion[i];

		if (s->start == offset && s->end <= r->source->size && s->end - s->start > strlen(MACRO) &&
		    !strncmp(r->source->text + s->start, MACRO, strlen(MACRO)) &&
		    !isalnum((unsigned char)r->source->text[s->start + strlen(MACRO)]))
			return s;
	}
	return NULL;
}

bool clread_walk_mark(struct walk *w, const struct node *n)
{
	CXCursor variable = mark_variable(w, n->cursor);
	const struct span *use;
	struct node mark = *n;
	const char *comma;
	struct cl_range value;
	struct cl_event *e;

	if (clang_Cursor_isNull(variable))
		return false;
	use = find_mark_use(w->r, n->cursor);
	mark.range = use ? (struct cl_range){ use->start, use->end, true } : (struct cl_range){ 0 };
	e = clread_add_event(w, CLREAD_MARK, &mark);
	if (!e)
		return true;
	e->name = clread_text(w->r, clang_getCursorSpelling(variable)) + strlen(VARIABLE);
	comma = use ? memchr(w->r->source->text + use->start, ',', use->end - use->start) : NULL;
	value = comma ? (struct cl_range){ (size_t)(comma - w->r->source->text) + 1, use->end - 1, true } :
			(struct cl_range){ 0 };
	clread_add_part(e, &value, "ulong");
	clread_walk(w, clang_Cursor_getVarDeclInitializer(variable), n, VALUE);
	return true;
}
