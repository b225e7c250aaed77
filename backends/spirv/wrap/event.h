/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the text of a function does at places of instructions, as libclang's tree says it: accesses of memory by
 * subscripts, dereferences, members and named variables of memory; calls of OpenCL C's functions by builtin.def; barriers;
 * conditions; marks; lines, where they are asked for; calls of functions that the source has. Private variables that are named, with their members, are no memory:
 * compilers keep them in registers. Each event is an expression, whose text a probed copy of the function replaces; what
 * no text stands for alone is an event too, with the reason.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_EVENT_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/lower/lower.h"
#include "core/places.h"
#include "core/wire/pool.h"

enum { CLREAD_MOST_PARTS = 6, CLREAD_MOST_ACCESSES = 2 };
enum { CLREAD_NONE = -1, CLREAD_HIDDEN = -2, CLREAD_RESULT = -3, CLREAD_STEP_UP = -4, CLREAD_STEP_DOWN = -5, CLREAD_ONE = -6 };

enum cl_form {
	CLREAD_LOAD,       /* of the lvalue that is part 0 */
	CLREAD_ASSIGN,     /* of part 1 to part 0, with `member` behind it */
	CLREAD_UPDATE,     /* += and the like, ++, -- of part 0 */
	CLREAD_CALL,       /* of a function of OpenCL C: its arguments are the parts */
	CLREAD_BARRIER,
	CLREAD_CONDITION,  /* part 0 is compared with 0 */
	CLREAD_SWITCH,     /* switch (part 0) */
	CLREAD_FUNCTION,   /* a call of a function of the source: its name is part 0, its parenthesis is behind part 1 */
	CLREAD_MARK,       /* the use of a macro, whose value is part 0 */
	CLREAD_LINE,       /* a statement, or the place before a declaration, where a line begins */
	CLREAD_UNSEEN,
};

struct cl_part {
	size_t start, end;
	const char *type;          /* of a variable that keeps its value, of an lvalue its address; NULL: none does */
	const char *pointed;       /* what `type` begins with, where the lvalue is aligned to less than that, `align`; else align is 0 */
	uint32_t align;
};

/* numbers of parts, or one of CLREAD_NONE and so on */
struct cl_access {
	enum gpubpf_mem_access access; /* 0: what cannot be seen may be any */
	uint32_t spaces;           /* GPUBPF_IN */
	int pointer, index, many;  /* from `index` times `stride` bytes behind the pointer on; `many` times `bytes` */
	uint32_t stride, offset;
	uint32_t bytes, count;
	int value;                 /* CLREAD_RESULT: of the expression; CLREAD_STEP_UP, CLREAD_STEP_DOWN: one more, one less than that */
	enum gpubpf_rmw rmw;
	int operand;
	bool group;                /* by its block: its first lane makes it */
};

struct cl_event {
	enum cl_form form;
	uint32_t line;
	size_t start, end;         /* its text in the source */
	uint32_t order;            /* its place in the walk: what is around it comes before it */
	struct cl_part part[CLREAD_MOST_PARTS];
	uint32_t nparts;
	const char *type;          /* of its value; NULL: it has none, or nobody asks for it */
	const char *member;        /* ASSIGN: "", or ".x" */
	bool value_first;          /* ASSIGN: the compilers evaluate part 1 before part 0; LINE: it has a value, which is asked for */
	struct cl_access access[CLREAD_MOST_ACCESSES];
	uint32_t naccesses;
	enum gpubpf_barrier_kind barrier; /* 0: no barrier */
	uint32_t function;         /* FUNCTION: index in the unit */
	const char *name;          /* MARK, LINE */
	const char *unseen;        /* what it is that cannot be told exactly, NULL: it can */
	bool by_macro;             /* for what macros make of it */
};

struct gpubpf_cl_kernel;

/* a function of the source, kernels too */
struct gpubpf_cl_function {
	const char *name;
	bool kernel, called;       /* called: by another function, or kernel */
	bool local;                /* it has local memory of its own or of what it calls: no other function may have its text */
	/* where places of functions are asked for: its parameters, as a kernel's are; what it returns, of a type by that name,
	 * NULL: nothing */
	const struct gpubpf_cl_kernel *signature;
	struct gpubpf_param result;
	const char *result_type;
	struct cl_event *event;    /* in the order of the text */
	uint32_t nevents;
	uint32_t *callee;          /* indices in the unit */
	uint32_t ncallees;
	/* its body's text between the braces, if it can be repeated; else end is 0, and `why` is the reason: "code ..." */
	size_t body, end;
	const char *why;
	/* its head, if it can be repeated under another name, which is from name_at to name_end; else params_end is 0 */
	size_t start, name_at, name_end, params, params_end;
	size_t at;                 /* where a copy may stand */
	uint32_t line, column;     /* of what follows there */
	uint32_t body_line, body_column;
	const char *body_file;     /* the file's name by #line at the body's start; NULL: the name at its end is the same */
	const char *pretty;        /* __PRETTY_FUNCTION__; NULL: the body does not use it */
};

/* a place of one function; several at one access, of each kind that it is of */
struct cl_place {
	enum gpubpf_site kind;
	uint32_t id, line;
	uint32_t event, access;
	uint32_t site;             /* in the job */
};

/* an argument of a function of OpenCL C */
struct cl_argument {
	uint32_t spaces;           /* a pointer's; else 0 */
	uint32_t bytes, count;     /* of what it points to, or of itself */
	bool image;
};
/* builtin.c: fill in what a call of a function of OpenCL C of that name does. */
void clread_builtin(const char *name, const struct cl_argument *arg, uint32_t nargs, struct cl_event *e);

/* The places of these kinds in a function, in the order of its text; `out` NULL: how many. */
uint32_t gpubpf_cl_places(const struct gpubpf_cl_function *f, uint32_t kinds, struct cl_place *out);
/* Is every program at the place refused, whatever it reads there? */
bool gpubpf_cl_hidden(const struct gpubpf_cl_function *f, const struct cl_place *place);

#endif
