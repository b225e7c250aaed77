/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the memory accesses of calls of OpenCL C's built-in functions, according to the table in builtin.def. */
#include <stdlib.h>
#include <string.h>

#include "event.h"

/*
 * The kinds of rows in builtin.def. NOTHING is CL_NO_ACCESS, and WHOLE is CL_ACCESS. WAITS is CL_WAITS or
 * CL_WAITS_UNSEEN. The remaining kinds have the names of their macros.
 */
enum how { NOTHING, WAITS, VECTOR, RMW, WHOLE, MANY, UNSEEN };
/* the parameter `how` of CL_VECTOR and CL_MANY */
enum shape { PLAIN, HALF, ALIGNED, LANE, GROUP };

#define NONE CLREAD_NONE
#define HIDDEN CLREAD_HIDDEN
#define RESULT CLREAD_RESULT
#define ONE CLREAD_ONE

static const struct row {
	const char *name;
	enum how how;
	enum gpubpf_mem_access access;
	int pointer, index, value; /* argument numbers, or NONE, HIDDEN, RESULT or ONE */
	enum gpubpf_rmw rmw;
	int operand;
	enum shape shape;
	enum gpubpf_barrier_kind barrier;
	const char *unseen;
	/* UNSEEN: memory spaces that the function accesses, in addition to the pointees of its arguments */
	uint32_t spaces;
} rows[] = {
#define CL_VECTOR(called, does, at, by, what, layout) \
	{ called, VECTOR, GPUBPF_##does, at, by, what, .shape = layout },
#define CL_RMW(called, op, with, what) { called, RMW, GPUBPF_ATOMIC, 0, NONE, what, GPUBPF_RMW_##op, with },
#define CL_ACCESS(called, does, at, what) { called, WHOLE, GPUBPF_##does, at, NONE, what },
#define CL_MANY(called, does, at, times, by) { called, MANY, GPUBPF_##does, at, times, HIDDEN, .shape = by },
#define CL_WAITS(called, kind) { called, WAITS, .barrier = GPUBPF_BARRIER_##kind },
#define CL_WAITS_UNSEEN(called, why) { called, WAITS, .unseen = why },
#define CL_UNSEEN(called, in, why) { called, UNSEEN, .unseen = why, .spaces = in },
#define CL_NO_ACCESS(called) { called, NOTHING },
#include "builtin.def"
};

#define NROWS (sizeof(rows) / sizeof(*rows))

static bool matches_name(const struct row *row, const char *name)
{
	size_t n = strlen(row->name);

	if (row->name[n - 1] == '*')
		return !strncmp(name, row->name, n - 1);
	if (strncmp(name, row->name, n))
		return false;
	name += n;
	if (row->how == VECTOR) {
		name += strspn(name, "0123456789");
		return !*name || (row->access == GPUBPF_STORE && row->shape != PLAIN && !strncmp(name, "_rt", 3));
	}
	return !*name || ((row->how == RMW || row->how == WHOLE) && !strcmp(name, "_explicit"));
}

/*
 * Set the size and stride of a vector access. Functions like vload3 access vectors of three elements without padding
 * between the vectors. Functions like vloada_half3 access vectors of three elements that are four elements apart.
 */
static void shape_vector(const struct row *row, const char *name, const struct cl_argument *arg, struct cl_access *a)
{
	uint32_t each = row->shape == PLAIN ? arg[row->pointer].bytes : 2, n = atoi(name + strlen(row->name));

	a->count = n ? n : 1;
	a->bytes = a->count * each;
	a->stride = (a->count == 3 && row->shape == ALIGNED ? 4 : a->count) * each;
	a->index = row->index;
}

static struct cl_access access_of(const struct row *row, const char *name, const struct cl_argument *arg)
{
	const struct cl_argument *at = &arg[row->pointer];
	struct cl_access a = { .access = row->access,
			       .spaces = at->spaces,
			       .pointer = row->pointer,
			       .index = CLREAD_NONE,
			       .times = CLREAD_NONE,
			       .bytes = at->bytes,
			       .count = at->count,
			       .value = row->value,
			       .rmw = row->rmw,
			       .operand = row->rmw ? row->operand : CLREAD_NONE,
			       .group = row->shape == GROUP };

	if (row->how == VECTOR)
		shape_vector(row, name, arg, &a);
	if (row->how == MANY)
		a.times = row->index;
	return a;
}

static void add_unseen(struct cl_event *e, uint32_t spaces, const char *why)
{
	e->unseen = why;
	e->access[0].spaces |= spaces;
	e->naccesses = 1;
}

/* Describe a function that accesses memory through its arguments in an unknown way. */
static void add_unseen_arguments(const struct cl_argument *arg, uint32_t nargs, const char *why, struct cl_event *e)
{
	for (uint32_t i = 0; i < nargs; i++) {
		if (arg[i].spaces)
			add_unseen(e, arg[i].spaces, why ? why : "a pointer passed to an unknown function");
		if (arg[i].image)
			add_unseen(e, GPUBPF_IN_TEXTURE, why ? why : "an image");
	}
}

void clread_builtin(const char *name, const struct cl_argument *arg, uint32_t nargs, struct cl_event *e)
{
	bool known = false;

	for (size_t i = 0; i < NROWS; i++) {
		const struct row *row = &rows[i];

		if (!matches_name(row, name))
			continue;
		known = true;
		if (row->how == WAITS) {
			e->form = CLREAD_BARRIER;
			e->barrier = row->barrier;
			e->unseen = row->unseen;
		} else if (row->how == UNSEEN) {
			add_unseen(e, row->spaces, row->unseen);
			add_unseen_arguments(arg, nargs, row->unseen, e);
		} else if (row->how != NOTHING && (uint32_t)row->pointer < nargs && e->naccesses < CLREAD_MAX_ACCESSES) {
			e->access[e->naccesses++] = access_of(row, name, arg);
		}
	}
	if (!known)
		add_unseen_arguments(arg, nargs, NULL, e);
}
