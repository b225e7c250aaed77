/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over a function's syntax tree that finds the function's events. The files of this folder share this header.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_WALK_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_WALK_H

#include "event.h"
#include "range.h"

/* how the enclosing code uses an expression: it uses the value, nothing, or the address */
enum want { VALUE, NOTHING, ADDRESS };

/* an expression or statement that the walk visits */
struct node {
	CXCursor cursor;
	enum want want;
	struct cl_range range;
};

struct walk {
	struct reader *r;
	struct gpubpf_cl_function *f;
	const char *unseen; /* why the events that the walk now adds cannot be probed; NULL: they can be probed */
	/*
	 * The walk is inside the initialiser of a const integer variable. An array length may use such a variable, so
	 * its initialiser must remain a constant expression.
	 */
	bool constant;
};

struct children {
	struct reader *r;
	CXCursor *list;
	uint32_t n;
};

/* event.c: list the events in the function's body. */
void clread_events(struct reader *r, CXCursor function, struct gpubpf_cl_function *f);

/* tree.c */
/* Return the type of an expression, and the kind of its canonical type. */
CXType clread_type_of(CXCursor c);
enum CXTypeKind clread_kind_of(CXCursor c);
bool clread_is_array_expr(CXCursor c);
bool clread_is_vector(CXCursor c);
void clread_children_of(struct walk *w, CXCursor c, struct children *children);
/* Returns the only child. Returns the null cursor if the node has no child or several. */
CXCursor clread_only_child(CXCursor c);
/* Returns the first child. Returns the null cursor if the node has no child. */
CXCursor clread_first_child(CXCursor c);
/* Create the node of an expression, with its range of source text. */
struct node clread_node_of(struct walk *w, CXCursor cursor, const struct node *enclosing, enum want want);

/* event.c: clread_walk() walks one expression or statement; clread_walk_children() walks all children of a node. */
void clread_walk(struct walk *w, CXCursor cursor, const struct node *enclosing, enum want want);
void clread_walk_children(struct walk *w, const struct node *n, enum want want);

/* lvalue.c */
/*
 * Does the source show that the lvalue lies in memory? True if it is accessed through an address, or is a variable that
 * is not private.
 */
bool clread_is_memory(CXCursor c);
/* Walk an lvalue. Adds a load event if code uses the value and the lvalue lies in memory. */
void clread_walk_lvalue(struct walk *w, const struct node *n);
/* Add the store event of an assignment to the lvalue `to`. from: the assigned value; NULL for an update, such as ++. */
void clread_walk_store(struct walk *w, const struct node *n, CXCursor to, const CXCursor *from);

/* add_event.c */
/*
 * Append an event with the node's text. If that text does not belong to the node only, the event cannot be probed.
 * Returns NULL if memory runs out.
 */
struct cl_event *clread_add_event(struct walk *w, enum cl_form form, const struct node *n);
/*
 * Append an operand (part) to an event. type: the type of the variable that holds the operand in a probed copy. NULL:
 * no variable holds it. "": the type has no name, so the event cannot be probed.
 */
void clread_add_part(struct cl_event *e, const struct cl_range *range, const char *type);
void clread_set_type(struct cl_event *e, const char *type);
/* Mark the event as not probeable because of a macro, unless it has a reason already. Returns `why`. */
const char *clread_hide(struct cl_event *e, const char *why);
/* Returns the description of an access to an lvalue of this type. */
struct cl_access clread_access_of(CXType type, enum gpubpf_mem_access access, int value);

/*
 * event.c: clread_add_condition() adds the event of a condition c, a child of n, that decides a branch. The function
 * clread_add_unseen_condition() adds a condition that cannot be probed.
 */
void clread_add_condition(struct walk *w, CXCursor c, const struct node *n, enum cl_form form);
void clread_add_unseen_condition(struct walk *w, const struct node *n, const char *why);
/*
 * call.c: add the event of code that might access any memory and might execute a barrier. `what` names the code in the
 * diagnostic.
 */
void clread_add_unknown_access(struct walk *w, const struct node *n, const char *what);

/* text.c: does the text contain a preprocessor directive? */
bool clread_has_directive(const char *text, size_t from, size_t to);
/* Parse a selection of vector elements such as "xy". Returns false if the elements are not contiguous. */
bool clread_read_member(const char *name, size_t n, uint32_t elements, uint32_t *first, uint32_t *count);
/*
 * Does the text contain ?: without a middle operand, for which libclang has no cursor kind? Returns true also if
 * range->exact is false.
 */
bool clread_is_short_conditional(const char *text, const struct cl_range *range);
/*
 * Determine which children of an expression are evaluated at run time; the others are compile-time constants. On entry
 * *end is the number of children. On return the evaluated children have the indices *first to *end - 1.
 */
void clread_select_evaluated(const struct walk *w, const struct node *n, uint32_t *first, uint32_t *end);
/* align.c: returns the alignment of an lvalue in bytes, or UINT32_MAX if it is unknown. */
uint32_t clread_align_of(CXCursor lvalue);
/* mark.c: if the loop is a mark, add its event. Returns false for other loops. */
bool clread_walk_mark(struct walk *w, const struct node *n);
/*
 * line.c: if the statement is the first that executes in its line, add an event. `value` says that code uses the
 * statement's value, as for the last statement in GNU C's ({ ... }).
 */
void clread_walk_line(struct walk *w, CXCursor cursor, const struct node *enclosing, bool value);
/* statement.c: walk a statement of a kind that needs special treatment. Returns false for other cursors. */
bool clread_walk_statement(struct walk *w, const struct node *n);
/* call.c: walk a call. */
void clread_walk_call(struct walk *w, const struct node *n);

#endif
