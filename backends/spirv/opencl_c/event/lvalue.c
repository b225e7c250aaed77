/* SPDX-License-Identifier: Apache-2.0 */
/* Determines which lvalues lie in memory, and adds the events for loads and stores of these lvalues. */
#include <ctype.h>

#include "walk.h"

/* Does the expression have a pointer or array type? libclang reports an array parameter with its array type. */
static bool leads_to_memory(CXCursor c)
{
	return clread_kind_of(c) == CXType_Pointer || clread_is_array_expr(c);
}

/* Is the expression a parameter? Parameters lie in private memory, whatever their declared type. */
static bool is_parameter(CXCursor c)
{
	return clang_getCursorKind(clang_getCursorReferenced(c)) == CXCursor_ParmDecl;
}

bool clread_is_memory(CXCursor c)
{
	CXCursor base;

	switch (clang_getCursorKind(c)) {
	case CXCursor_DeclRefExpr:
		return clread_spaces(clread_type_of(c)) & ~GPUBPF_IN(LOCAL) && clread_kind_of(c) != CXType_OCLSampler &&
		       !is_parameter(c);
	case CXCursor_ArraySubscriptExpr:
		return true;
	case CXCursor_UnaryOperator:
		return clang_getCursorUnaryOperatorKind(c) == CXUnaryOperator_Deref;
	case CXCursor_MemberRefExpr:
		base = clread_only_child(c);
		return leads_to_memory(base) || clread_is_memory(base);
	case CXCursor_ParenExpr:
	case CXCursor_UnexposedExpr:
		base = clread_only_child(c);
		return !clang_Cursor_isNull(base) && clread_is_memory(base);
	default:
		return false;
	}
}

/*
 * Returns why an access of the lvalue cannot be probed, or NULL if it can. A bit-field has no address. An operator on
 * an _Atomic object must stay one operation.
 */
static const char *find_unseen_reason(CXCursor c)
{
	CXCursor field = clang_getCursorKind(c) == CXCursor_MemberRefExpr ? clang_getCursorReferenced(c) :
									    clang_getNullCursor();

	if (!clang_Cursor_isNull(field) && clang_Cursor_isBitField(field))
		return "a bit-field";
	if (clread_kind_of(c) == CXType_Atomic)
		return "an operator on an _Atomic object";
	return NULL;
}

/* the target of an access: an entire lvalue, or some elements of a vector */
struct access_target {
	CXCursor cursor; /* the lvalue whose address a probed copy takes */
	const struct node *node;
	struct cl_range range;
	const char *member; /* "" or ".xy" */
	CXType type;        /* type of the accessed part */
	uint32_t offset, count, bytes;
	const char *unseen;
};

static void set_whole_target(const struct node *n, struct access_target *t)
{
	struct cl_access a = clread_access_of(clread_type_of(n->cursor), GPUBPF_LOAD, CLREAD_NONE);

	*t = (struct access_target){ n->cursor,
				     n,
				     n->range,
				     "",
				     clread_type_of(n->cursor),
				     0,
				     a.count,
				     a.bytes,
				     find_unseen_reason(n->cursor) };
}

/*
 * Describe in *t the target base.member, where `member` selects elements of a vector. t->unseen stays set if the
 * elements are not contiguous. `at` is the offset where the base's text ends, including its parentheses.
 */
static void set_element_target(struct walk *w, const struct node *n, const struct node *base, size_t at,
			       struct access_target *t)
{
	CXType vector = clread_type_of(base->cursor);
	uint32_t elements = clread_elements(vector), first = 0, count = 0;
	const char *text = w->r->source->text;
	size_t end;

	set_whole_target(base, t);
	t->type = clread_type_of(n->cursor);
	t->unseen = "a non-contiguous or nested selection of vector elements";
	while (at < n->range.end && isspace((unsigned char)text[at]))
		at++;
	for (end = at + 1; end < n->range.end && isalnum((unsigned char)text[end]);)
		end++;
	if (!clread_is_vector(base->cursor) || text[at] != '.' || end != n->range.end ||
	    !clread_read_member(text + at + 1, end - at - 1, elements, &first, &count))
		return;
	t->unseen = NULL;
	t->member = gpubpf_pool_strndup(w->r->pool, text + at, end - at);
	t->bytes = t->bytes / (elements == 3 ? 4 : elements);
	t->offset = first * t->bytes;
	t->bytes *= count;
	t->count = count;
}

static struct cl_access make_access(const struct access_target *t, enum gpubpf_mem_access access, int value)
{
	struct cl_access a = clread_access_of(clread_type_of(t->cursor), access, value);

	a.offset = t->offset;
	a.count = t->count;
	a.bytes = t->bytes;
	return a;
}

/* Add the target's address to the event as part 0. */
static void add_target(struct walk *w, struct cl_event *e, const struct access_target *t)
{
	CXType type = clread_type_of(t->cursor);
	uint32_t align = clread_align_of(t->cursor), natural = clang_Type_getAlignOf(clang_getCanonicalType(type));

	clread_add_part(e, &t->range, clread_pointer_name(w->r, type));
	if (!e->unseen)
		e->unseen = t->unseen;
	if (align >= natural)
		return;
	e->part[0].pointed = clread_type_name(w->r, type);
	e->part[0].align = align;
}

static void add_load(struct walk *w, const struct access_target *t)
{
	struct cl_event *e = clread_add_event(w, CLREAD_LOAD, t->node);

	if (!e)
		return;
	add_target(w, e, t);
	clread_set_type(e, clread_type_name(w->r, clread_type_of(t->cursor)));
	e->access[e->naccesses++] = make_access(t, GPUBPF_LOAD, CLREAD_NONE);
}

/* Does clang evaluate the right side of an assignment before the left side? It does, except for structs. */
static bool is_value_first(const struct cl_event *e, CXType type)
{
	return clang_getCanonicalType(type).kind != CXType_Record && e->part[0].start < e->part[1].start;
}

/* Add the events of a store. n: the entire assignment or update. dropped: no code uses the value of n. */
static void add_store(struct walk *w, const struct node *n, const struct access_target *t, const struct cl_range *from,
		      bool dropped)
{
	enum cl_form form = from ? CLREAD_ASSIGN : CLREAD_UPDATE;
	struct cl_event *e = clread_add_event(w, form, n);
	const char *type = clread_type_name(w->r, t->type);
	int value = from ? 1 : CLREAD_RESULT;
	bool is_volatile = clang_isVolatileQualifiedType(clread_type_of(t->cursor));
	enum CXUnaryOperatorKind op = clang_getCursorKind(n->cursor) == CXCursor_UnaryOperator ?
					      clang_getCursorUnaryOperatorKind(n->cursor) :
					      CXUnaryOperator_Invalid;

	if (!e)
		return;
	add_target(w, e, t);
	if (from) {
		clread_add_part(e, from, type);
		e->member = t->member;
		e->value_first = is_value_first(e, t->type);
	} else if (op == CXUnaryOperator_Invalid && is_volatile) {
		/* to use the value of this assignment, a probed copy would have to read the volatile memory again */
		value = CLREAD_HIDDEN;
		if (!dropped && !e->unseen)
			e->unseen = "the value of an assignment to volatile memory";
	} else {
		clread_set_type(e, type);
	}
	if (op == CXUnaryOperator_PostInc || op == CXUnaryOperator_PostDec)
		value = op == CXUnaryOperator_PostInc ? CLREAD_STEP_UP : CLREAD_STEP_DOWN;
	if (!from)
		e->access[e->naccesses++] = make_access(t, GPUBPF_LOAD, CLREAD_NONE);
	e->access[e->naccesses++] = make_access(t, GPUBPF_STORE, value);
}

static struct node strip_parentheses(struct walk *w, struct node n)
{
	while (clang_getCursorKind(n.cursor) == CXCursor_ParenExpr) {
		struct node outer = n;

		n = clread_node_of(w, clread_only_child(outer.cursor), &outer, n.want);
	}
	return n;
}

/*
 * Find the memory that an access of the lvalue touches, and store it in *t, which points into nodes[]. Returns false if
 * the lvalue is not in memory.
 */
static bool find_target(struct walk *w, const struct node *lvalue, struct node nodes[2], struct access_target *t)
{
	struct node child;

	if (!clread_is_memory(lvalue->cursor))
		return false;
	nodes[0] = strip_parentheses(w, *lvalue);
	if (clang_getCursorKind(nodes[0].cursor) != CXCursor_UnexposedExpr) {
		set_whole_target(&nodes[0], t);
		return true;
	}
	child = clread_node_of(w, clread_only_child(nodes[0].cursor), &nodes[0], ADDRESS);
	nodes[1] = strip_parentheses(w, child);
	set_element_target(w, &nodes[0], &nodes[1], child.range.end, t);
	if (clang_getCursorKind(nodes[1].cursor) == CXCursor_UnexposedExpr)
		t->unseen = "a non-contiguous or nested selection of vector elements";
	return true;
}

/* Walk the expressions that compute an lvalue's address. */
static void walk_inside(struct walk *w, const struct node *n)
{
	CXCursor base = clread_only_child(n->cursor);

	if (clang_getCursorKind(n->cursor) == CXCursor_MemberRefExpr && !leads_to_memory(base))
		clread_walk(w, base, n, clread_is_memory(base) ? ADDRESS : VALUE);
	else
		clread_walk_children(w, n, VALUE);
}

/* Add a load event if the lvalue lies in memory, and walk the expressions inside it. */
static void walk_load(struct walk *w, const struct node *n)
{
	struct node nodes[2];
	struct access_target t;

	if (!find_target(w, n, nodes, &t)) {
		walk_inside(w, n);
		return;
	}
	add_load(w, &t);
	walk_inside(w, t.node);
}

void clread_walk_lvalue(struct walk *w, const struct node *n)
{
	if ((n->want == VALUE || n->want == NOTHING) && !clread_is_array_expr(n->cursor))
		walk_load(w, n);
	else
		walk_inside(w, n);
}

void clread_walk_store(struct walk *w, const struct node *n, CXCursor to, const CXCursor *from)
{
	struct node left = clread_node_of(w, to, n, ADDRESS), right, nodes[2];
	struct access_target t;

	if (from)
		right = clread_node_of(w, *from, n, VALUE);
	if (find_target(w, &left, nodes, &t)) {
		add_store(w, n, &t, from ? &right.range : NULL, n->want == NOTHING);
		walk_inside(w, t.node);
	} else {
		clread_walk(w, to, n, ADDRESS);
	}
}
