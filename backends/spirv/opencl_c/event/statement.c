/* SPDX-License-Identifier: Apache-2.0 */
/* Walks statements, and finds which of their parts begin a line, are a condition or are evaluated. */
#include <string.h>

#include "walk.h"

/* Find the offsets of the two semicolons of a for statement. Returns false if a macro produces them. */
static bool find_semicolons(struct walk *w, const struct node *n, size_t at[2])
{
	CXToken *tokens = NULL;
	unsigned count = 0, line, column, offset, found = 0;
	int depth = 0;

	clang_tokenize(w->r->tu, clang_getCursorExtent(n->cursor), &tokens, &count);
	for (unsigned i = 0; i < count && found < 2; i++) {
		const char *text = clread_text(w->r, clang_getTokenSpelling(w->r->tu, tokens[i]));
		CXFile file;

		depth += !strcmp(text, "(") - !strcmp(text, ")");
		if (strcmp(text, ";") || depth != 1)
			continue;
		clang_getFileLocation(clang_getTokenLocation(w->r->tu, tokens[i]), &file, &line, &column, &offset);
		at[found++] = offset;
	}
	clang_disposeTokens(w->r->tu, tokens, count);
	return found == 2 && n->range.exact;
}

/* Walk a for statement. The expression between the two semicolons is the condition, if there is one. */
static void walk_for(struct walk *w, const struct node *n)
{
	struct children children;
	size_t at[2];
	bool known = find_semicolons(w, n, at);

	if (!known)
		clread_add_unseen_condition(w, n, "the condition of a for loop that a macro produces");
	clread_children_of(w, n->cursor, &children);
	for (uint32_t i = 0; i < children.n; i++) {
		struct cl_range range = clread_range(w->r, clang_getCursorExtent(children.list[i]), &n->range, false);
		bool condition = known && range.start > at[0] && range.end <= at[1];

		if (condition)
			clread_add_condition(w, children.list[i], n, CLREAD_CONDITION);
		if (i + 1 == children.n)
			clread_walk_line(w, children.list[i], n, false);
		clread_walk(w, children.list[i], n, condition ? VALUE : NOTHING);
	}
}

/* Walk consecutive statements. */
static void walk_statements(struct walk *w, const struct node *n)
{
	struct children children;

	clread_children_of(w, n->cursor, &children);
	for (uint32_t i = 0; i < children.n; i++) {
		clread_walk_line(w, children.list[i], n, false);
		clread_walk(w, children.list[i], n, NOTHING);
	}
}

/* Walk a statement expression of GNU C, ({ ... }). If its last statement is an expression, that is its value. */
static void walk_statement_expression(struct walk *w, const struct node *n)
{
	struct node block = clread_node_of(w, clread_only_child(n->cursor), n, NOTHING);
	struct children children;
	bool value;

	clread_children_of(w, block.cursor, &children);
	for (uint32_t i = 0; i < children.n; i++) {
		value = i + 1 == children.n && clang_isExpression(clang_getCursorKind(children.list[i]));
		clread_walk_line(w, children.list[i], &block, value);
		clread_walk(w, children.list[i], &block, value ? n->want : NOTHING);
	}
}

/* Walk an if, while, do or switch statement. The condition is the first child, or the last child of a do statement. */
static void walk_control_statement(struct walk *w, const struct node *n, enum CXCursorKind kind)
{
	struct children children;
	uint32_t which;

	clread_children_of(w, n->cursor, &children);
	which = kind == CXCursor_DoStmt ? children.n - 1 : 0;
	for (uint32_t i = 0; i < children.n; i++) {
		if (i == which)
			clread_add_condition(w, children.list[i], n,
					     kind == CXCursor_SwitchStmt ? CLREAD_SWITCH : CLREAD_CONDITION);
		else
			clread_walk_line(w, children.list[i], n, false);
		clread_walk(w, children.list[i], n, i == which ? VALUE : NOTHING);
	}
}

/* Walk the statement after a case label, which is the last child. The label's constant is not evaluated at run time. */
static void walk_case(struct walk *w, const struct node *n)
{
	struct children children;

	clread_children_of(w, n->cursor, &children);
	if (!children.n)
		return;
	clread_walk_line(w, children.list[children.n - 1], n, false);
	clread_walk(w, children.list[children.n - 1], n, NOTHING);
}

bool clread_walk_statement(struct walk *w, const struct node *n)
{
	enum CXCursorKind kind = clang_getCursorKind(n->cursor);

	switch (kind) {
	case CXCursor_ForStmt:
		walk_for(w, n);
		return true;
	case CXCursor_DoStmt:
		if (!clread_walk_mark(w, n))
			walk_control_statement(w, n, kind);
		return true;
	case CXCursor_IfStmt:
	case CXCursor_WhileStmt:
	case CXCursor_SwitchStmt:
		walk_control_statement(w, n, kind);
		return true;
	case CXCursor_CaseStmt:
		walk_case(w, n);
		return true;
	case CXCursor_CompoundStmt:
	case CXCursor_DefaultStmt:
	case CXCursor_LabelStmt:
		walk_statements(w, n);
		return true;
	case CXCursor_StmtExpr:
		walk_statement_expression(w, n);
		return true;
	default:
		return false;
	}
}
