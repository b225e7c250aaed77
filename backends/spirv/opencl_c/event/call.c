/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds events for calls: of OpenCL C's built-in functions, of functions that the source defines, and of unknown
 * functions.
 */
#include <ctype.h>
#include <string.h>

#include "walk.h"

/*
 * Returns the memory spaces to which a pointer may point (GPUBPF_IN). If an implicit conversion made the pointer
 * generic, returns the space of the pointer before the conversion.
 */
static uint32_t pointed_spaces(CXCursor c)
{
	CXType type = clang_getCanonicalType(clang_getCursorType(c));
	uint32_t spaces = clread_is_array(type) ? clread_spaces(type) : 0;

	while (type.kind == CXType_Pointer && clread_spaces(clang_getPointeeType(type))) {
		spaces = clread_spaces(clang_getPointeeType(type));
		c = clang_getCursorKind(c) == CXCursor_UnexposedExpr ? clread_only_child(c) : clang_getNullCursor();
		type = clang_getCanonicalType(clang_getCursorType(c));
	}
	return spaces;
}

static struct cl_argument argument_of(struct walk *w, CXCursor c)
{
	CXType type = clang_getCursorType(c), canonical = clang_getCanonicalType(type);
	struct cl_argument arg = { .image = strstr(clread_text(w->r, clang_getTypeSpelling(canonical)), "image") };
	CXType of = canonical.kind == CXType_Pointer ? clang_getPointeeType(canonical) :
		    clread_is_array(canonical)       ? clang_getArrayElementType(canonical) :
						       type;
	struct cl_access a = clread_access_of(of, GPUBPF_LOAD, CLREAD_NONE);

	arg.spaces = pointed_spaces(c);
	arg.bytes = a.bytes;
	arg.count = a.count;
	return arg;
}

/*
 * Returns the name of the type for the variable that holds an argument in the probed copy. For an array, this is a
 * pointer type. Returns "" if the type cannot be named.
 */
static const char *variable_type(struct walk *w, CXCursor c)
{
	CXType type = clang_getCursorType(c);
	bool array = clread_is_array(clang_getCanonicalType(type));
	const char *name = array ? clread_array_pointer(w->r, type) : clread_type_name(w->r, type);

	return strstr(name, "(*)") ? "" : name;
}

/* Does an access of the event need the value of argument i? */
static bool is_used(const struct cl_event *e, int i)
{
	for (uint32_t a = 0; a < e->naccesses; a++) {
		const struct cl_access *of = &e->access[a];

		if (of->pointer == i || of->index == i || of->times == i || of->value == i || of->operand == i)
			return true;
	}
	return false;
}

/*
 * Must the probed copy hold argument i in a variable? Yes if an access needs this or a later argument, because the copy
 * must evaluate the arguments in order.
 */
static bool needs_variable(const struct cl_event *e, int i, int nargs)
{
	while (i < nargs && !is_used(e, i))
		i++;
	return i < nargs;
}

static void add_builtin(struct walk *w, const struct node *n, const char *name)
{
	struct cl_argument arg[CLREAD_MAX_PARTS] = { 0 };
	int nargs = clang_Cursor_getNumArguments(n->cursor);
	struct cl_event found = { 0 }, *e;

	for (int i = 0; i < nargs && i < CLREAD_MAX_PARTS; i++)
		arg[i] = argument_of(w, clang_Cursor_getArgument(n->cursor, i));
	clread_builtin(name, arg, nargs < CLREAD_MAX_PARTS ? nargs : CLREAD_MAX_PARTS, &found);
	if (!found.naccesses && found.form != CLREAD_BARRIER)
		return;
	e = clread_add_event(w, found.form == CLREAD_BARRIER ? CLREAD_BARRIER : CLREAD_CALL, n);
	if (!e)
		return;
	memcpy(e->access, found.access, sizeof(e->access));
	e->naccesses = found.naccesses;
	e->barrier = found.barrier;
	e->unseen = e->unseen ? e->unseen : found.unseen;
	if (e->form == CLREAD_BARRIER || e->unseen)
		return;
	for (int i = 0; i < nargs && i < CLREAD_MAX_PARTS; i++) {
		CXCursor c = clang_Cursor_getArgument(n->cursor, i);
		struct node part = clread_node_of(w, c, n, VALUE);

		clread_add_part(e, &part.range, needs_variable(e, i, nargs) ? variable_type(w, c) : NULL);
	}
	if (clang_getCanonicalType(clang_getCursorType(n->cursor)).kind == CXType_OCLEvent)
		clread_set_type(e, "event_t");
	else if (clang_getCanonicalType(clang_getCursorType(n->cursor)).kind != CXType_Void)
		clread_set_type(e, clread_type_name(w->r, clang_getCursorType(n->cursor)));
}

void clread_add_unknown_access(struct walk *w, const struct node *n, const char *what)
{
	struct cl_event *e = clread_add_event(w, CLREAD_UNSEEN, n);

	if (!e)
		return;
	e->unseen = what;
	e->access[e->naccesses++].spaces = GPUBPF_IN_ANY;
	e->barrier = GPUBPF_BARRIER_BLOCK;
}

/*
 * Add the event for a call of a function that the source defines. The call can be probed only if its text begins with
 * the function's name, followed by a parenthesis.
 */
static void add_function(struct walk *w, const struct node *n, CXCursor callee)
{
	const char *name = clread_text(w->r, clang_getCursorSpelling(callee)), *text = w->r->source->text;
	uint32_t index = clread_function_index(w->r, callee);
	size_t at = n->range.start + strlen(name);
	struct cl_event *e = clread_add_event(w, CLREAD_FUNCTION, n);

	if (!e || index == UINT32_MAX)
		return;
	e->function = index;
	if (e->unseen)
		return;
	e->part[0] = (struct cl_part){ n->range.start, at, NULL };
	while (at < n->range.end && isspace((unsigned char)text[at]))
		at++;
	e->part[1] = (struct cl_part){ at, at + 1, NULL };
	e->nparts = 2;
	if (strncmp(text + n->range.start, name, strlen(name)) || text[at] != '(')
		e->unseen = "a call that does not name its function directly";
}

void clread_walk_call(struct walk *w, const struct node *n)
{
	CXCursor callee = clang_getCursorReferenced(n->cursor), definition = clang_getNullCursor();

	if (!clang_Cursor_isNull(callee) && clang_getCursorKind(callee) == CXCursor_FunctionDecl)
		definition = clang_getCursorDefinition(callee);
	if (clang_Cursor_isNull(callee) || clang_getCursorKind(callee) != CXCursor_FunctionDecl)
		clread_add_unknown_access(w, n, "an indirect call");
	else if (!clang_Cursor_isNull(definition))
		add_function(w, n, callee);
	else if (!clread_is_declared(w->r, callee))
		add_builtin(w, n, clread_text(w->r, clang_getCursorSpelling(callee)));
	else
		clread_add_unknown_access(w, n, "a call of a function that another source defines");
	for (int i = 0; i < clang_Cursor_getNumArguments(n->cursor); i++)
		clread_walk(w, clang_Cursor_getArgument(n->cursor, i), n, VALUE);
}
