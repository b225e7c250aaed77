/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over a function's syntax tree that finds its events. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "walk.h"

/* -- the tree -- */

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

static CXType type_of(CXCursor c)
{
	return clang_getCursorType(c);
}

static enum CXTypeKind kind_of(CXCursor c)
{
	return clang_getCanonicalType(type_of(c)).kind;
}

static bool is_array(CXCursor c)
{
	enum CXTypeKind kind = kind_of(c);

	return kind == CXType_ConstantArray || kind == CXType_IncompleteArray || kind == CXType_VariableArray;
}

static bool is_vector(CXCursor c)
{
	return kind_of(c) == CXType_ExtVector;
}

/* libclang reports an element of a vector, v.x, as an expression without a kind. Its text ends after its child's. */
static bool is_element(const struct node *n, CXCursor child, const struct cl_range *of)
{
	return (is_vector(child) || kind_of(child) == CXType_Pointer) && of->end && n->range.end > of->end &&
	       n->range.start == of->start;
}

/* -- events -- */

/* Mark the event as hidden by a macro. Returns the reason. */
static const char *hide(struct cl_event *e, const char *why)
{
	e->by_macro |= !e->unseen;
	e->unseen = e->unseen ? e->unseen : why;
	return why;
}

struct cl_event *clread_add_event(struct walk *w, enum cl_form form, const struct node *n)
{
	struct cl_event *e = APPEND(w->r, w->f->event, w->f->nevents);
	CXString file;
	unsigned line, column;

	if (!e)
		return NULL;
	*e = (struct cl_event){ .form = form, .start = n->range.start, .end = n->range.end, .order = w->f->nevents,
				.member = "", .unseen = w->unseen };
	clang_getPresumedLocation(clang_getRangeStart(clang_getCursorExtent(n->cursor)), &file, &line, &column);
	clang_disposeString(file);
	e->line = line;
	if (!n->range.exact)
		hide(e, "an expression that a macro partly produces");
	if (!e->unseen && clread_has_directive(w->r->source->text, e->start, e->end))
		e->unseen = "an expression that directives split";
	return e;
}

void clread_add_part(struct cl_event *e, const struct cl_range *range, const char *type)
{
	struct cl_part *part = &e->part[e->nparts++];

	*part = (struct cl_part){ range->start, range->end, type };
	if (!range->exact)
		hide(e, "an expression that a macro partly produces");
	if (!e->unseen && type && !*type)
		e->unseen = "a type that cannot be named outside of the function";
}

void clread_set_type(struct cl_event *e, const char *type)
{
	e->type = type;
	if (!e->unseen && !*type)
		e->unseen = "a type that cannot be named outside of the function";
}

struct cl_access clread_access_of(CXType type, enum gpubpf_mem_access access, int value)
{
	long long bytes = clang_Type_getSizeOf(type);

	return (struct cl_access){ .access = access, .spaces = clread_spaces(type), .index = CLREAD_NONE, .many = CLREAD_NONE,
				   .bytes = bytes > 0 ? bytes : 0, .count = clread_elements(type), .value = value,
				   .operand = CLREAD_NONE };
}

/* -- memory -- */

/* Is it a pointer or, for libclang, an array? A parameter declared as an array is one too. */
static bool leads_to_memory(CXCursor c)
{
	return kind_of(c) == CXType_Pointer || is_array(c);
}

/* Parameters are private, however they are declared. */
static bool is_parameter(CXCursor c)
{
	return clang_getCursorKind(clang_getCursorReferenced(c)) == CXCursor_ParmDecl;
}

/* Does the source show that the lvalue lies in memory? It is reached through an address, or is a variable that is not
 * private. */
static bool is_memory(CXCursor c)
{
	CXCursor base;

	switch (clang_getCursorKind(c)) {
	case CXCursor_DeclRefExpr:
		return clread_spaces(type_of(c)) & ~GPUBPF_IN(LOCAL) && kind_of(c) != CXType_OCLSampler && !is_parameter(c);
	case CXCursor_ArraySubscriptExpr:
		return true;
	case CXCursor_UnaryOperator:
		return clang_getCursorUnaryOperatorKind(c) == CXUnaryOperator_Deref;
	case CXCursor_MemberRefExpr:
		base = clread_only_child(c);
		return leads_to_memory(base) || is_memory(base);
	case CXCursor_ParenExpr: case CXCursor_UnexposedExpr:
		base = clread_only_child(c);
		return !clang_Cursor_isNull(base) && is_memory(base);
	default:
		return false;
	}
}

/* Bit fields have no address, nor do vector elements selected by number. Operators on atomics are excluded too. */
static const char *reason_unseen(CXCursor c)
{
	CXCursor field = clang_getCursorKind(c) == CXCursor_MemberRefExpr ? clang_getCursorReferenced(c) : clang_getNullCursor();

	if (!clang_Cursor_isNull(field) && clang_Cursor_isBitField(field))
		return "a bit-field";
	if (kind_of(c) == CXType_Atomic)
		return "an operator on an atomic";
	return NULL;
}

/* the target of an access: a whole lvalue, or some elements of a vector */
struct access_target {
	CXCursor cursor;           /* the lvalue whose address is taken */
	const struct node *node;
	struct cl_range range;
	const char *member;        /* "" or ".xy" */
	CXType type;               /* type of the accessed part */
	uint32_t offset, count, bytes;
	const char *unseen;
};

static void set_whole_target(const struct node *n, struct access_target *t)
{
	struct cl_access a = clread_access_of(type_of(n->cursor), GPUBPF_LOAD, CLREAD_NONE);

	*t = (struct access_target){ n->cursor, n, n->range, "", type_of(n->cursor), 0, a.count, a.bytes,
				     reason_unseen(n->cursor) };
}

/* `at`: end of the base's text, including its parentheses. */
static void set_element_target(struct walk *w, const struct node *n, const struct node *base, size_t at,
			       struct access_target *t)
{
	CXType vector = type_of(base->cursor);
	uint32_t elements = clread_elements(vector), first = 0, count = 0;
	const char *text = w->r->source->text;
	size_t end;

	set_whole_target(base, t);
	t->type = type_of(n->cursor);
	t->unseen = "some elements of a vector";
	while (at < n->range.end && isspace((unsigned char)text[at]))
		at++;
	for (end = at + 1; end < n->range.end && isalnum((unsigned char)text[end]);)
		end++;
	if (!is_vector(base->cursor) || text[at] != '.' || end != n->range.end ||
	    !clread_read_member(text + at + 1, end - at - 1, elements, &first, &count))
		return;
	t->unseen = NULL;
	t->member = gpubpf_pool_strndup(w->r->pool, text + at, end - at);
	t->bytes = t->bytes / (elements == 3 ? 4 : elements);
	t->offset = first * t->bytes;
	t->bytes *= count;
	t->count = count;
}

static struct cl_access target_access(const struct access_target *t, enum gpubpf_mem_access access, int value)
{
	struct cl_access a = clread_access_of(type_of(t->cursor), access, value);

	a.offset = t->offset;
	a.count = t->count;
	a.bytes = t->bytes;
	return a;
}

/* Add the target's address as part 0. */
static void add_target(struct walk *w, struct cl_event *e, const struct access_target *t)
{
	CXType type = type_of(t->cursor);
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
	clread_set_type(e, clread_type_name(w->r, type_of(t->cursor)));
	e->access[e->naccesses++] = target_access(t, GPUBPF_LOAD, CLREAD_NONE);
}

/* Clang evaluates the right side of an assignment before the left side, except for structs. */
static bool is_value_first(const struct cl_event *e, CXType type)
{
	return clang_getCanonicalType(type).kind != CXType_Record && e->part[0].start < e->part[1].start;
}

/* n: the whole assignment or update. `dropped`: no code uses its value. */
static void add_store(struct walk *w, const struct node *n, const struct access_target *t, const struct cl_range *from,
		      bool dropped)
{
	enum cl_form form = from ? CLREAD_ASSIGN : CLREAD_UPDATE;
	struct cl_event *e = clread_add_event(w, form, n);
	const char *type = clread_type_name(w->r, t->type);
	int value = from ? 1 : CLREAD_RESULT;
	bool is_volatile = clang_isVolatileQualifiedType(type_of(t->cursor));
	enum CXUnaryOperatorKind op = clang_getCursorKind(n->cursor) == CXCursor_UnaryOperator ?
				      clang_getCursorUnaryOperatorKind(n->cursor) : CXUnaryOperator_Invalid;

	if (!e)
		return;
	add_target(w, e, t);
	if (from) {
		clread_add_part(e, from, type);
		e->member = t->member;
		e->value_first = is_value_first(e, t->type);
	} else if (op == CXUnaryOperator_Invalid && is_volatile) {
		/* using its value would read the memory again */
		value = CLREAD_HIDDEN;
		if (!dropped && !e->unseen)
			e->unseen = "the value of an assignment to volatile memory";
	} else {
		clread_set_type(e, type);
	}
	if (op == CXUnaryOperator_PostInc || op == CXUnaryOperator_PostDec)
		value = op == CXUnaryOperator_PostInc ? CLREAD_STEP_UP : CLREAD_STEP_DOWN;
	if (!from)
		e->access[e->naccesses++] = target_access(t, GPUBPF_LOAD, CLREAD_NONE);
	e->access[e->naccesses++] = target_access(t, GPUBPF_STORE, value);
}

/* -- lvalues -- */

struct node clread_node_of(struct walk *w, CXCursor cursor, const struct node *around, enum want want)
{
	enum CXCursorKind kind = around ? clang_getCursorKind(around->cursor) : CXCursor_InvalidFile;
	bool transparent = kind == CXCursor_ParenExpr || kind == CXCursor_UnexposedExpr;

	return (struct node){ cursor, want,
			      clread_range(w->r, clang_getCursorExtent(cursor), around ? &around->range : NULL, transparent) };
}

static struct node without_parentheses(struct walk *w, struct node n)
{
	while (clang_getCursorKind(n.cursor) == CXCursor_ParenExpr) {
		struct node outer = n;

		n = clread_node_of(w, clread_only_child(outer.cursor), &outer, n.want);
	}
	return n;
}

/* Find the accessed target of an lvalue, and the nodes that represent it; false: it is no memory. */
static bool find_target(struct walk *w, const struct node *lvalue, struct node nodes[2], struct access_target *t)
{
	struct node child;

	if (!is_memory(lvalue->cursor))
		return false;
	nodes[0] = without_parentheses(w, *lvalue);
	if (clang_getCursorKind(nodes[0].cursor) != CXCursor_UnexposedExpr) {
		set_whole_target(&nodes[0], t);
		return true;
	}
	child = clread_node_of(w, clread_only_child(nodes[0].cursor), &nodes[0], ADDRESS);
	nodes[1] = without_parentheses(w, child);
	set_element_target(w, &nodes[0], &nodes[1], child.range.end, t);
	if (clang_getCursorKind(nodes[1].cursor) == CXCursor_UnexposedExpr)
		t->unseen = "some elements of a vector";
	return true;
}

static void walk_children(struct walk *w, const struct node *n, enum want want)
{
	struct children children;

	clread_children_of(w, n->cursor, &children);
	for (uint32_t i = 0; i < children.n; i++)
		clread_walk(w, children.list[i], n, want);
}

/* Walk the expressions that compute an lvalue's address. */
static void walk_inside(struct walk *w, const struct node *n)
{
	CXCursor base = clread_only_child(n->cursor);

	if (clang_getCursorKind(n->cursor) == CXCursor_MemberRefExpr && !leads_to_memory(base))
		clread_walk(w, base, n, is_memory(base) ? ADDRESS : VALUE);
	else
		walk_children(w, n, VALUE);
}

/* Add the read of an lvalue in memory. */
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

static void walk_lvalue(struct walk *w, const struct node *n)
{
	if ((n->want == VALUE || n->want == NOTHING) && !is_array(n->cursor))
		walk_load(w, n);
	else
		walk_inside(w, n);
}

static void walk_store(struct walk *w, const struct node *n, CXCursor to, const CXCursor *from)
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

/* -- operators -- */

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

	if (is_vector(c) || (w->constant && is_constant(c)))
		return;
	e = clread_add_event(w, form, &condition);
	if (e)
		clread_add_part(e, &condition.range, form == CLREAD_SWITCH ? clread_type_name(w->r, type_of(c)) : "int");
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
		walk_store(w, n, children.list[0], &children.list[1]);
	else if (clang_getCursorKind(n->cursor) == CXCursor_CompoundAssignOperator)
		walk_store(w, n, children.list[0], NULL);
	else
		clread_walk(w, children.list[0], n, op == CXBinaryOperator_Comma ? NOTHING : VALUE);
	clread_walk(w, children.list[1], n, op == CXBinaryOperator_Comma ? n->want : VALUE);
}

static void walk_unary(struct walk *w, const struct node *n)
{
	switch (clang_getCursorUnaryOperatorKind(n->cursor)) {
	case CXUnaryOperator_Deref:
		walk_lvalue(w, n);
		return;
	case CXUnaryOperator_AddrOf:
		walk_children(w, n, ADDRESS);
		return;
	case CXUnaryOperator_PostInc: case CXUnaryOperator_PostDec:
	case CXUnaryOperator_PreInc: case CXUnaryOperator_PreDec:
		walk_store(w, n, clread_only_child(n->cursor), NULL);
		return;
	default:
		walk_children(w, n, VALUE);
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

/* Add p->x where p points to a vector. */
static void add_elements(struct walk *w, const struct node *n, CXCursor pointer)
{
	struct cl_event *e = clread_add_event(w, CLREAD_UNSEEN, n);

	if (!e)
		return;
	e->unseen = "elements of a vector through an arrow (->)";
	e->access[e->naccesses++].spaces = clread_spaces(clang_getPointeeType(clang_getCanonicalType(type_of(pointer))));
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

/* Expressions without a kind in libclang: conversions, elements of vectors, and operators that only OpenCL C has. */
static void walk_unexposed(struct walk *w, const struct node *n)
{
	CXCursor child = clread_only_child(n->cursor);
	struct node of;

	if (clang_Cursor_isNull(child)) {
		if (clread_is_short_conditional(w->r->source->text, &n->range))
			clread_add_unseen_condition(w, n, "a conditional without a middle operand");
		walk_operands(w, n);
		return;
	}
	of = clread_node_of(w, child, n, VALUE);
	if (is_element(n, child, &of.range) && kind_of(child) == CXType_Pointer) {
		add_elements(w, n, child);
		clread_walk(w, child, n, VALUE);
		return;
	}
	if (is_element(n, child, &of.range)) {
		if (is_memory(child))
			walk_lvalue(w, n);
		else
			clread_walk(w, child, n, n->want == ADDRESS ? ADDRESS : VALUE);
		return;
	}
	clread_walk(w, child, n, is_array(child) ? ADDRESS : n->want);
}

/* A cast's type name, and an array's length in it, are not evaluated. */
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
	CXType type = clang_getCanonicalType(type_of(n->cursor));
	bool constant = w->constant;

	if (clang_Cursor_isNull(value) || clread_spaces(type_of(n->cursor)) & GPUBPF_IN(CONSTANT))
		return;
	w->constant = clang_isConstQualifiedType(type) && type.kind >= CXType_Bool && type.kind <= CXType_LongLong;
	clread_walk(w, value, n, VALUE);
	w->constant = constant;
}

static void walk_block(struct walk *w, const struct node *n)
{
	const char *unseen = w->unseen;

	w->unseen = unseen ? unseen : "code in a block (^{ })";
	walk_children(w, n, NOTHING);
	w->unseen = unseen;
}

void clread_walk(struct walk *w, CXCursor cursor, const struct node *around, enum want want)
{
	struct node n = clread_node_of(w, cursor, around, want);
	enum CXCursorKind kind = clang_getCursorKind(cursor);

	switch (kind) {
	case CXCursor_DeclRefExpr:
		if (is_memory(cursor))
			walk_lvalue(w, &n);
		return;
	case CXCursor_ArraySubscriptExpr: case CXCursor_MemberRefExpr:
		walk_lvalue(w, &n);
		return;
	case CXCursor_UnaryOperator:
		walk_unary(w, &n);
		return;
	case CXCursor_BinaryOperator: case CXCursor_CompoundAssignOperator:
		walk_binary(w, &n);
		return;
	case CXCursor_ConditionalOperator:
		walk_conditional(w, &n);
		return;
	case CXCursor_ParenExpr:
		walk_children(w, &n, want);
		return;
	case CXCursor_UnexposedExpr:
		walk_unexposed(w, &n);
		return;
	case CXCursor_CallExpr:
		clread_walk_call(w, &n);
		return;
	case CXCursor_UnaryExpr: /* sizeof and similar operators */
	case CXCursor_StaticAssert: case CXCursor_EnumDecl: case CXCursor_StructDecl: case CXCursor_UnionDecl:
	case CXCursor_TypedefDecl: case CXCursor_FunctionDecl:
		return;
	case CXCursor_CStyleCastExpr: case CXCursor_CompoundLiteralExpr:
		walk_typed(w, &n);
		return;
	case CXCursor_BlockExpr:
		walk_block(w, &n);
		return;
	case CXCursor_GCCAsmStmt: case CXCursor_MSAsmStmt:
		clread_add_unknown_access(w, &n, "inline assembly");
		return;
	case CXCursor_VarDecl:
		walk_variable(w, &n);
		return;
	default:
		if (!clread_walk_statement(w, &n))
			walk_children(w, &n, VALUE);
	}
}

/* -- a function -- */

/* Sort by text; an enclosing event precedes its parts. */
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
		same = !a->part[i].type == !b->part[i].type &&
		       a->part[i].align == b->part[i].align && (!a->part[i].type || !strcmp(a->part[i].type, b->part[i].type));
	return same && (!a->type || !strcmp(a->type, b->type));
}

/* A macro that uses an argument repeatedly produces equal events with the same text. Join them, unless they differ. */
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

/* Refuse different events with the same text. Exceptions are a condition and the expression that it evaluates. */
static void refuse_ambiguous(struct gpubpf_cl_function *f)
{
	for (uint32_t i = 1; i < f->nevents; i++) {
		struct cl_event *a = &f->event[i - 1], *b = &f->event[i];
		bool condition = a->form == CLREAD_CONDITION || a->form == CLREAD_SWITCH || a->form == CLREAD_LINE;

		if (a->start == b->start && a->end == b->end && !condition && !a->unseen && !b->unseen)
			hide(a, hide(b, "an expression that a macro repeats"));
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
