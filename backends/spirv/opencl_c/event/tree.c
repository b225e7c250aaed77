/* SPDX-License-Identifier: Apache-2.0 */
/* Reads nodes of libclang's syntax tree: their children, types and text. */
#include "walk.h"

static enum CXChildVisitResult add_child(CXCursor c, CXCursor parent, CXClientData data)
{
	struct children *children = data;
	CXCursor *child = APPEND(children->r, children->list, children->n);

	if (!child)
		return CXChildVisit_Break;
	*child = c;
	return CXChildVisit_Continue;
}

void clread_children_of(struct walk *w, CXCursor c, struct children *children)
{
	*children = (struct children){ .r = w->r };
	clang_visitChildren(c, add_child, children);
	if (!children->list)
		children->n = 0;
}

static enum CXChildVisitResult record_only_child(CXCursor c, CXCursor parent, CXClientData data)
{
	CXCursor *only = data;

	*only = clang_Cursor_isNull(*only) ? c : clang_getTranslationUnitCursor(clang_Cursor_getTranslationUnit(c));
	return CXChildVisit_Continue;
}

CXCursor clread_only_child(CXCursor c)
{
	CXCursor only = clang_getNullCursor();

	clang_visitChildren(c, record_only_child, &only);
	return clang_isTranslationUnit(clang_getCursorKind(only)) ? clang_getNullCursor() : only;
}

static enum CXChildVisitResult record_first_child(CXCursor c, CXCursor parent, CXClientData data)
{
	*(CXCursor *)data = c;
	return CXChildVisit_Break;
}

CXCursor clread_first_child(CXCursor c)
{
	CXCursor first = clang_getNullCursor();

	clang_visitChildren(c, record_first_child, &first);
	return first;
}

CXType clread_type_of(CXCursor c)
{
	return clang_getCursorType(c);
}

enum CXTypeKind clread_kind_of(CXCursor c)
{
	return clang_getCanonicalType(clread_type_of(c)).kind;
}

bool clread_is_array_expr(CXCursor c)
{
	enum CXTypeKind kind = clread_kind_of(c);

	return kind == CXType_ConstantArray || kind == CXType_IncompleteArray || kind == CXType_VariableArray;
}

bool clread_is_vector(CXCursor c)
{
	return clread_kind_of(c) == CXType_ExtVector;
}

struct node clread_node_of(struct walk *w, CXCursor cursor, const struct node *enclosing, enum want want)
{
	enum CXCursorKind kind = enclosing ? clang_getCursorKind(enclosing->cursor) : CXCursor_InvalidFile;
	bool transparent = kind == CXCursor_ParenExpr || kind == CXCursor_UnexposedExpr;

	return (struct node){ cursor, want,
			      clread_range(w->r, clang_getCursorExtent(cursor), enclosing ? &enclosing->range : NULL,
					   transparent) };
}
