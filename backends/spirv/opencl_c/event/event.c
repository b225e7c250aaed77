/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: lists the events in a function's body, such as memory accesses, calls and conditions.
 * Before: f describes the function, including the text range of its body.
 * After: f->event has the events in the order of the text. Identical events of the same text are merged into one.
 * Requires: the expansions of all macros have been recorded.
 */
#include <stdlib.h>
#include <string.h>

#include "walk.h"

void clread_walk_children(struct walk *w, const struct node *n, enum want want)
{
	struct children children;

	clread_children_of(w, n->cursor, &children);
	for (uint32_t i = 0; i < children.n; i++)
		clread_walk(w, children.list[i], n, want);
}

/* -- operators -- */

/*
 * Is the node a selection of vector elements, such as v.x? The cursor of v.x is an unexposed expression that
 * starts like its child v and ends after v.
 */
static bool is_element(const struct node *n, CXCursor child, const struct cl_range *of)
{
	return (clread_is_vector(child) || clread_kind_of(child) == CXType_Pointer) && of->end &&
	       n->range.end > of->end && n->range.start == of->start;
}

static bool is_constant(CXCursor c)
{
	CXEvalResult value = clang_Cursor_Evaluate(c);
	bool known = value && clang_EvalResult_getKind(value) == CXEval_Int;

	if (value)
		clang_EvalResult_dispose(value);
	return known;
}

void clread_add_condition(struct walk *w, CXCursor c, const struct node *n, enum cl_form form)
{
	struct node condition = clread_node_of(w, c, n, VALUE);
	struct cl_event *e;

	if (clread_is_vector(c) || (w->constant && is_constant(c)))
		return;
	e = clread_add_event(w, form, &condition);
	if (e)
		clread_add_part(e, &condition.range,
				form == CLREAD_SWITCH ? clread_type_name(w->r, clread_type_of(c)) : "int");
}

void clread_add_unseen_condition(struct walk *w, const struct node *n, const char *why)
{
	struct cl_event *e = clread_add_event(w, CLREAD_CONDITION, n);

	if (e)
		e->unseen = why;
}

static void walk_binary(struct walk *w, const struct node *n)
{
	enum CXBinaryOperatorKind op = clang_getCursorBinaryOperatorKind(n->cursor);
	struct children children;

	clread_children_of(w, n->cursor, &children);
	if (children.n != 2)
		return;
	if (op == CXBinaryOperator_LAnd || op == CXBinaryOperator_LOr)
		clread_add_condition(w, children.list[0], n, CLREAD_CONDITION);
	if (op == CXBinaryOperator_Assign)
		clread_walk_store(w, n, children.list[0], &children.list[1]);
	else if (clang_getCursorKind(n->cursor) == CXCursor_CompoundAssignOperator)
		clread_walk_store(w, n, children.list[0], NULL);
	else
		clread_walk(w, children.list[0], n, op == CXBinaryOperator_Comma ? NOTHING : VALUE);
	clread_walk(w, children.list[1], n, op == CXBinaryOperator_Comma ? n->want : VALUE);
}

static void walk_unary(struct walk *w, const struct node *n)
{
	switch (clang_getCursorUnaryOperatorKind(n->cursor)) {
	case CXUnaryOperator_Deref:
		clread_walk_lvalue(w, n);
		return;
	case CXUnaryOperator_AddrOf:
		clread_walk_children(w, n, ADDRESS);
		return;
	case CXUnaryOperator_PostInc:
	case CXUnaryOperator_PostDec:
	case CXUnaryOperator_PreInc:
	case CXUnaryOperator_PreDec:
		clread_walk_store(w, n, clread_only_child(n->cursor), NULL);
		return;
	default:
		clread_walk_children(w, n, VALUE);
	}
}

static void walk_conditional(struct walk *w, const struct node *n)
{
	struct children children;

	clread_children_of(w, n->cursor, &children);
	if (children.n)
		clread_add_condition(w, children.list[0], n, CLREAD_CONDITION);
	for (uint32_t i = 0; i < children.n; i++)
		clread_walk(w, children.list[i], n, i ? n->want : VALUE);
}

/* For p->x, where p points to a vector, add an event that cannot be probed. */
static void add_elements(struct walk *w, const struct node *n, CXCursor pointer)
{
	struct cl_event *e = clread_add_event(w, CLREAD_UNSEEN, n);

	if (!e)
		return;
	e->unseen = "elements of a vector that are accessed with ->";
	e->access[e->naccesses++].spaces =
		clread_spaces(clang_getPointeeType(clang_getCanonicalType(clread_type_of(pointer))));
}

static void walk_operands(struct walk *w, const struct node *n)
{
	struct children children;
	uint32_t i = 0, end;

	clread_children_of(w, n->cursor, &children);
	end = children.n;
	clread_select_evaluated(w, n, &i, &end);
	for (; i < end; i++)
		clread_walk(w, children.list[i], n, VALUE);
}

/*
 * Walk an expression for which libclang has no cursor kind: a conversion, a selection of vector elements, or an
 * operator that only OpenCL C has.
 */
static void walk_unexposed(struct walk *w, const struct node *n)
{
	CXCursor child = clread_only_child(n->cursor);
	struct node of;

	if (clang_Cursor_isNull(child)) {
		/* __builtin_LINE() and the like have no child */
		if (!clang_Cursor_isNull(clread_first_child(n->cursor)) &&
		    clread_is_short_conditional(w->r->source->text, &n->range))
			clread_add_unseen_condition(w, n, "a conditional without a middle operand (?:)");
		walk_operands(w, n);
		return;
	}
	of = clread_node_of(w, child, n, VALUE);
	if (is_element(n, child, &of.range) && clread_kind_of(child) == CXType_Pointer) {
		add_elements(w, n, child);
		clread_walk(w, child, n, VALUE);
		return;
	}
	if (is_element(n, child, &of.range)) {
		if (clread_is_memory(child))
			clread_walk_lvalue(w, n);
		else
			clread_walk(w, child, n, n->want == ADDRESS ? ADDRESS : VALUE);
		return;
	}
	clread_walk(w, child, n, clread_is_array_expr(child) ? ADDRESS : n->want);
}

/* Walk only the operand of a cast. The type name, including an array length in it, is not evaluated at run time. */
static void walk_typed(struct walk *w, const struct node *n)
{
	struct children children;

	clread_children_of(w, n->cursor, &children);
	if (children.n)
		clread_walk(w, children.list[children.n - 1], n, VALUE);
}

/* -- variables and blocks -- */

static void walk_variable(struct walk *w, const struct node *n)
{
	CXCursor value = clang_Cursor_getVarDeclInitializer(n->cursor);
	CXType type = clang_getCanonicalType(clread_type_of(n->cursor));
	bool constant = w->constant;

	if (clang_Cursor_isNull(value) || clread_spaces(clread_type_of(n->cursor)) & GPUBPF_IN(CONSTANT))
		return;
	w->constant = clang_isConstQualifiedType(type) && type.kind >= CXType_Bool && type.kind <= CXType_LongLong;
	clread_walk(w, value, n, VALUE);
	w->constant = constant;
}

static void walk_block(struct walk *w, const struct node *n)
{
	const char *unseen = w->unseen;

	w->unseen = unseen ? unseen : "code in a block (^{ })";
	clread_walk_children(w, n, NOTHING);
	w->unseen = unseen;
}

void clread_walk(struct walk *w, CXCursor cursor, const struct node *enclosing, enum want want)
{
	struct node n = clread_node_of(w, cursor, enclosing, want);
	enum CXCursorKind kind = clang_getCursorKind(cursor);

	switch (kind) {
	case CXCursor_DeclRefExpr:
		if (clread_is_memory(cursor))
			clread_walk_lvalue(w, &n);
		return;
	case CXCursor_ArraySubscriptExpr:
	case CXCursor_MemberRefExpr:
		clread_walk_lvalue(w, &n);
		return;
	case CXCursor_UnaryOperator:
		walk_unary(w, &n);
		return;
	case CXCursor_BinaryOperator:
	case CXCursor_CompoundAssignOperator:
		walk_binary(w, &n);
		return;
	case CXCursor_ConditionalOperator:
		walk_conditional(w, &n);
		return;
	case CXCursor_ParenExpr:
		clread_walk_children(w, &n, want);
		return;
	case CXCursor_UnexposedExpr:
		walk_unexposed(w, &n);
		return;
	case CXCursor_CallExpr:
		clread_walk_call(w, &n);
		return;
	case CXCursor_UnaryExpr: /* sizeof and similar operators, whose operands are not evaluated */
	case CXCursor_StaticAssert:
	case CXCursor_EnumDecl:
	case CXCursor_StructDecl:
	case CXCursor_UnionDecl:
	case CXCursor_TypedefDecl:
	case CXCursor_FunctionDecl:
		return;
	case CXCursor_CStyleCastExpr:
	case CXCursor_CompoundLiteralExpr:
		walk_typed(w, &n);
		return;
	case CXCursor_BlockExpr:
		walk_block(w, &n);
		return;
	case CXCursor_GCCAsmStmt:
	case CXCursor_MSAsmStmt:
		clread_add_unknown_access(w, &n, "inline assembly");
		return;
	case CXCursor_VarDecl:
		walk_variable(w, &n);
		return;
	default:
		if (!clread_walk_statement(w, &n))
			clread_walk_children(w, &n, VALUE);
	}
}

/* -- a function -- */

/* Sort events by the position of their text. An enclosing event precedes the events inside it. */
static int compare(const void *a, const void *b)
{
	const struct cl_event *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool is_same(const struct cl_event *a, const struct cl_event *b)
{
	bool same = a->form == b->form && a->start == b->start && a->end == b->end && a->nparts == b->nparts &&
		    !a->type == !b->type && a->function == b->function && a->naccesses == b->naccesses;

	for (uint32_t i = 0; same && i < a->nparts; i++)
		same = !a->part[i].type == !b->part[i].type && a->part[i].align == b->part[i].align &&
		       (!a->part[i].type || !strcmp(a->part[i].type, b->part[i].type));
	return same && (!a->type || !strcmp(a->type, b->type));
}

/*
 * If a macro uses an argument several times, the walk adds an event per use with the same text. Merge these events if
 * they are identical.
 */
static void join_repeated(struct gpubpf_cl_function *f)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->nevents; i++) {
		uint32_t k = n;

		while (k && f->event[k - 1].start == f->event[i].start && f->event[k - 1].end == f->event[i].end &&
		       (f->event[k - 1].unseen || !is_same(&f->event[k - 1], &f->event[i])))
			k--;
		if (!f->event[i].unseen && k && is_same(&f->event[k - 1], &f->event[i]))
			continue;
		f->event[n++] = f->event[i];
	}
	f->nevents = n;
}

/*
 * Refuse to probe events that differ but have the same text. A condition or line event may share the text of the
 * expression inside it.
 */
static void refuse_ambiguous(struct gpubpf_cl_function *f)
{
	for (uint32_t i = 1; i < f->nevents; i++) {
		struct cl_event *a = &f->event[i - 1], *b = &f->event[i];
		bool condition = a->form == CLREAD_CONDITION || a->form == CLREAD_SWITCH || a->form == CLREAD_LINE;

		if (a->start == b->start && a->end == b->end && !condition && !a->unseen && !b->unseen)
			clread_hide(a, clread_hide(b, "an expression that a macro repeats"));
	}
}

void clread_events(struct reader *r, CXCursor function, struct gpubpf_cl_function *f)
{
	struct walk w = { .r = r, .f = f };
	struct children children;

	if (!f->end)
		w.unseen = f->why;
	clread_children_of(&w, function, &children);
	for (uint32_t i = 0; i < children.n; i++)
		if (clang_getCursorKind(children.list[i]) == CXCursor_CompoundStmt)
			clread_walk(&w, children.list[i], NULL, NOTHING);
	if (f->nevents)
		qsort(f->event, f->nevents, sizeof(*f->event), compare);
	join_repeated(f);
	refuse_ambiguous(f);
}
