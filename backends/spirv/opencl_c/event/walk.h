/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over a function's syntax tree that finds its events. Shared by the files of this folder. */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_WALK_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_WALK_H

#include "event.h"
#include "range.h"

/* how the enclosing code uses an expression: its value, not at all, or its address */
enum want { VALUE, NOTHING, ADDRESS };

/* one expression or statement that the walk visits */
struct node {
	CXCursor cursor;
	enum want want;
	struct cl_range range;
};

struct walk {
	struct reader *r;
	struct gpubpf_cl_function *f;
	const char *unseen; /* why no event in the current code can be probed; NULL: it can */
	/* inside the initialiser of a const integer; arrays may use the variable as their length */
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
/* The type of an expression, and the kind of its canonical type. */
CXType clread_type_of(CXCursor c);
enum CXTypeKind clread_kind_of(CXCursor c);
bool clread_is_array_expr(CXCursor c);
bool clread_is_vector(CXCursor c);
void clread_children_of(struct walk *w, CXCursor c, struct children *children);
/* Returns the only child; the null cursor if there are none or several. */
CXCursor clread_only_child(CXCursor c);
/* Returns the first child; the null cursor if there is none. */
CXCursor clread_first_child(CXCursor c);
/* Create the node of an expression, with the text that belongs to it alone. */
struct node clread_node_of(struct walk *w, CXCursor cursor, const struct node *enclosing, enum want want);

/* event.c: walk an expression or statement; walk all children of a node. */
void clread_walk(struct walk *w, CXCursor cursor, const struct node *enclosing, enum want want);
void clread_walk_children(struct walk *w, const struct node *n, enum want want);

/* lvalue.c */
/* Does the source show that the lvalue lies in memory? It is reached through an address, or is a variable that is not
 * private. */
bool clread_is_memory(CXCursor c);
/* Walk an lvalue; if its value is used and it lies in memory, add a load. */
void clread_walk_lvalue(struct walk *w, const struct node *n);
/* Add the store of an assignment to the lvalue `to`. from: the assigned value; NULL for an update, such as ++. */
void clread_walk_store(struct walk *w, const struct node *n, CXCursor to, const CXCursor *from);

/* add_event.c */
/* Append an event with the node's text. It is marked unseen if no text belongs to the node alone. NULL: no memory. */
struct cl_event *clread_add_event(struct walk *w, enum cl_form form, const struct node *n);
/* Append a part. type: the type of the variable that stores its value. It is NULL if no variable does, and "" if the
 * type has no name. */
void clread_add_part(struct cl_event *e, const struct cl_range *range, const char *type);
void clread_set_type(struct cl_event *e, const char *type);
/* Mark the event as hidden by a macro. Returns the reason. */
const char *clread_hide(struct cl_event *e, const char *why);
/* Describe an access of an lvalue of this type. */
struct cl_access clread_access_of(CXType type, enum gpubpf_mem_access access, int value);

/* event.c: add a condition: c, a child of n, decides the control flow. The second function is for a decision that
 * cannot be probed. */
void clread_add_condition(struct walk *w, CXCursor c, const struct node *n, enum cl_form form);
void clread_add_unseen_condition(struct walk *w, const struct node *n, const char *why);
/* call.c: add an event that might access any memory and might be a barrier. */
void clread_add_unknown_access(struct walk *w, const struct node *n, const char *what);

/* text.c: does the text contain a directive? */
bool clread_has_directive(const char *text, size_t from, size_t to);
/* Parse the elements that ".xy" names. False if they are no contiguous range. */
bool clread_read_member(const char *name, size_t n, uint32_t elements, uint32_t *first, uint32_t *count);
/* Is the text GNU C's a ?: b, for which libclang has no kind? Also true if the text only contains one, or is not
 * exact. */
bool clread_is_short_conditional(const char *text, const struct cl_range *range);
/* Set *first and *end to the range of an expression's *end children that is evaluated at run time. The others are
 * constants for the compiler. */
void clread_select_evaluated(const struct walk *w, const struct node *n, uint32_t *first, uint32_t *end);
/* align.c: alignment of an lvalue in bytes, or UINT32_MAX if unknown. */
uint32_t clread_align_of(CXCursor lvalue);
/* mark.c: if the loop is a mark, add its event. False for an ordinary loop. */
bool clread_walk_mark(struct walk *w, const struct node *n);
/* line.c: add the event of a statement that begins a line. `value` is set if code uses the statement's value, as for
 * the last one in GNU C's ({ }). */
void clread_walk_line(struct walk *w, CXCursor cursor, const struct node *enclosing, bool value);
/* statement.c: walk a statement. False if the cursor is no statement with special rules. */
bool clread_walk_statement(struct walk *w, const struct node *n);
/* call.c: walk a call. */
void clread_walk_call(struct walk *w, const struct node *n);

#endif
