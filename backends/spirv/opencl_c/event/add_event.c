/* SPDX-License-Identifier: Apache-2.0 */
/* Appends events to a function's list, and operands (parts) to an event. */
#include "walk.h"

const char *clread_hide(struct cl_event *e, const char *why)
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
	*e = (struct cl_event){ .form = form,
				.start = n->range.start,
				.end = n->range.end,
				.order = w->f->nevents,
				.member = "",
				.unseen = w->unseen };
	clang_getPresumedLocation(clang_getRangeStart(clang_getCursorExtent(n->cursor)), &file, &line, &column);
	clang_disposeString(file);
	e->line = line;
	if (!n->range.exact)
		clread_hide(e, "an expression that a macro partly produces");
	if (!e->unseen && clread_has_directive(w->r->source->text, e->start, e->end))
		e->unseen = "an expression that a preprocessor directive splits";
	return e;
}

void clread_add_part(struct cl_event *e, const struct cl_range *range, const char *type)
{
	struct cl_part *part = &e->part[e->nparts++];

	*part = (struct cl_part){ range->start, range->end, type };
	if (!range->exact)
		clread_hide(e, "an expression that a macro partly produces");
	if (!e->unseen && type && !*type)
		e->unseen = "a value whose type cannot be named outside of the function";
}

void clread_set_type(struct cl_event *e, const char *type)
{
	e->type = type;
	if (!e->unseen && !*type)
		e->unseen = "a value whose type cannot be named outside of the function";
}

struct cl_access clread_access_of(CXType type, enum gpubpf_mem_access access, int value)
{
	long long bytes = clang_Type_getSizeOf(type);

	return (struct cl_access){ .access = access,
				   .spaces = clread_spaces(type),
				   .index = CLREAD_NONE,
				   .times = CLREAD_NONE,
				   .bytes = bytes > 0 ? bytes : 0,
				   .count = clread_elements(type),
				   .value = value,
				   .operand = CLREAD_NONE };
}
