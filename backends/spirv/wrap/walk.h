/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over a function's tree that finds its events: what event.c and event_call.c share. */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_WALK_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_WALK_H

#include "reader.h"

/* what is wanted of an expression */
enum want { VALUE, NOTHING, ADDRESS };

/* one expression or statement on the way down */
struct node {
	CXCursor cursor;
	enum want want;
	struct cl_range range;
};

struct walk {
	struct reader *r;
	struct gpubpf_cl_function *f;
	const char *unseen;        /* what all of the code is in, NULL: nothing */
	bool constant;             /* it is the value of an integer that is const, which arrays may be as long as */
};

struct children {
	struct reader *r;
	CXCursor *list;
	uint32_t n;
};

void clread_children_of(struct walk *w, CXCursor c, struct children *children);
/* The null cursor: it has none, or more. */
CXCursor clread_only_child(CXCursor c);
/* The null cursor: it has none. */
CXCursor clread_first_child(CXCursor c);
void clread_walk(struct walk *w, CXCursor cursor, const struct node *around, enum want want);
/* An expression, and which text is its own. */
struct node clread_node_of(struct walk *w, CXCursor cursor, const struct node *around, enum want want);
/* An event of that text, unseen if no text is its own; NULL: no memory. */
struct cl_event *clread_add_event(struct walk *w, enum cl_form form, const struct node *n);
/* One more part, with the type of the variable that keeps it, NULL: none does. "": it cannot be named. */
void clread_add_part(struct cl_event *e, const struct cl_range *range, const char *type);
void clread_set_type(struct cl_event *e, const char *type);
/* c, a part of n, decides where control goes; or what does cannot be seen. */
void clread_add_condition(struct walk *w, CXCursor c, const struct node *n, enum cl_form form);
void clread_add_unseen_condition(struct walk *w, const struct node *n, const char *why);
/* An access of an lvalue of that type. */
struct cl_access clread_access_of(CXType type, enum gpubpf_mem_access access, int value);
/* What might touch any memory, and be a barrier. */
void clread_add_elsewhere(struct walk *w, const struct node *n, const char *what);
/* event_text.c: is there a directive in it? */
bool clread_has_directive(const char *text, size_t from, size_t to);
/* The elements that ".xy" names, as a range; false: they are none. */
bool clread_read_member(const char *name, size_t n, uint32_t elements, uint32_t *first, uint32_t *count);
/* GNU C's a ?: b, which libclang has no kind for; what has it inside is taken for one too. */
bool clread_has_no_middle(const char *text, const struct cl_range *range);
/* Which of an expression's children, of *end, are evaluated: not what compilers ask for as constants. */
void clread_without_constants(const struct walk *w, const struct node *n, uint32_t *first, uint32_t *end);
/* event_align.c: of an lvalue, in bytes; UINT32_MAX: not known. */
uint32_t clread_align_of(CXCursor lvalue);
/* event_mark.c: of a loop, whether it is a mark, and no loop. */
bool clread_walk_mark(struct walk *w, const struct node *n);
/* event_line.c: of a statement, or an expression in its place that is asked for its value. */
void clread_walk_line(struct walk *w, CXCursor cursor, const struct node *around, bool value);
/* event_statement.c; false: it is none that has an order or a condition of its own. */
bool clread_walk_statement(struct walk *w, const struct node *n);
/* event_call.c */
void clread_walk_call(struct walk *w, const struct node *n);

#endif
