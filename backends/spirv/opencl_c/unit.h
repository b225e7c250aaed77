/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of reading an OpenCL C source: kernels, functions, and the events in their text.
 *
 * An event is an expression that a probed copy of the function can replace. Events are found in libclang's syntax tree:
 *   Memory accesses: subscripts, dereferences, members, and named variables that lie in memory.
 *   Calls of OpenCL C's built-in functions (backends/spirv/opencl_c/event/builtin.def), and of the source's functions.
 *   Barriers, conditions, marks and, if requested, lines.
 *
 * Named private variables and their members are not memory, because compilers keep them in registers. If no text
 * belongs to the expression only, the event has a reason why it cannot be probed.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_UNIT_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/lower/lower.h"
#include "core/model/places.h"
#include "core/target.h"
#include "core/wire/pool.h"

enum { CLREAD_MAX_PARTS = 6, CLREAD_MAX_ACCESSES = 2 };
/*
 * Special values of the int members of struct cl_access. Values from 0 are indices of parts.
 *   NONE: absent.
 *   HIDDEN: a value for which the source has no expression.
 *   RESULT: the value of the event's expression.
 *   STEP_UP, STEP_DOWN: that value plus or minus 1.
 *   ONE: the constant 1.
 */
enum {
	CLREAD_NONE = -1,
	CLREAD_HIDDEN = -2,
	CLREAD_RESULT = -3,
	CLREAD_STEP_UP = -4,
	CLREAD_STEP_DOWN = -5,
	CLREAD_ONE = -6
};

enum cl_form {
	CLREAD_LOAD,   /* reads the lvalue in part 0 */
	CLREAD_ASSIGN, /* assigns part 1 to part 0; `member` selects vector elements of part 0 */
	CLREAD_UPDATE, /* +=, ++, -- or another update of part 0 */
	CLREAD_CALL,   /* calls a built-in function of OpenCL C; the parts are the arguments */
	CLREAD_BARRIER,
	CLREAD_CONDITION, /* compares part 0 with 0 */
	CLREAD_SWITCH,    /* switch (part 0) */
	/* calls a function that the source defines; part 0 is its name, part 1 the opening parenthesis */
	CLREAD_FUNCTION,
	CLREAD_MARK, /* an expansion of GPUBPF_MARK; part 0 is the mark's value */
	CLREAD_LINE, /* the first statement of a line; for a declaration, the point before it */
	CLREAD_UNSEEN,
};

struct cl_part {
	size_t start, end;
	/*
	 * Type of the variable that holds the part's value, or the address if the part is an lvalue. NULL: no variable
	 * holds the part.
	 */
	const char *type;
	/*
	 * `align` is the lvalue's alignment in bytes if its type has a higher alignment, otherwise 0. If it is not 0,
	 * `pointed` is the beginning of `type` that names the lvalue's type.
	 */
	const char *pointed;
	uint32_t align;
};

/* One memory access of an event. The int members are indices of parts, or values from CLREAD_NONE to CLREAD_ONE. */
struct cl_access {
	enum gpubpf_mem_access access; /* 0: unknown, if the event cannot be probed */
	uint32_t spaces;               /* GPUBPF_IN */
	/*
	 * The access begins at pointer + index * stride + offset (in bytes), and covers bytes * times bytes. If `index`
	 * or `times` is CLREAD_NONE, the formula has no such factor.
	 */
	int pointer, index, times;
	uint32_t stride, offset;
	uint32_t bytes, count; /* size in bytes; number of vector elements */
	/* the stored value, or the value that an atomic operation combines with the value in memory */
	int value;
	enum gpubpf_rmw rmw;
	int operand;
	bool group; /* the work-group makes the access together; its first work-item reports it */
};

struct cl_event {
	enum cl_form form;
	uint32_t line;
	size_t start, end; /* offsets of the event's text in the source */
	/* number in the order of the walk; an enclosing event has a lower number than the events inside it */
	uint32_t order;
	struct cl_part part[CLREAD_MAX_PARTS];
	uint32_t nparts;
	const char *type;   /* type of the expression's value; NULL: there is no value, or no code uses it */
	const char *member; /* ASSIGN: "", or ".x" */
	/*
	 * ASSIGN: compilers evaluate part 1 (the value) before part 0 (the target). LINE, where the name does not fit:
	 * other code uses the value of the statement, as in a statement expression.
	 */
	bool value_first;
	struct cl_access access[CLREAD_MAX_ACCESSES];
	uint32_t naccesses;
	enum gpubpf_barrier_kind barrier; /* 0: no barrier */
	uint32_t function;                /* FUNCTION: index of the called function in the unit */
	const char *name;                 /* MARK: the mark's name. LINE: the text FILE:LINE. */
	/* why the event cannot be probed, as a phrase such as "a bit-field"; NULL: the event can be probed */
	const char *unseen;
	bool by_macro; /* `unseen` is set because a macro produces part of the text */
};

struct gpubpf_cl_kernel;

/* a function or kernel that the source defines */
struct gpubpf_cl_function {
	const char *name;
	bool kernel, called; /* the function is a kernel; another function or kernel calls it */
	/*
	 * This function, or a function that it calls, declares __local variables. Therefore a copy of it cannot be a
	 * separate function.
	 */
	bool local;
	/*
	 * Set only if places at functions are requested. `signature` describes the parameters like a kernel's
	 * parameters. `result` describes the returned value, and `result_type` names its type (NULL for void).
	 */
	const struct gpubpf_cl_kernel *signature;
	struct gpubpf_param result;
	const char *result_type;
	struct cl_event *event; /* in the order of the text */
	uint32_t nevents;
	uint32_t *callee; /* indices in unit->function */
	uint32_t ncallees;
	/*
	 * Offsets of the text between the body's braces, if a copy can repeat it. Otherwise end is 0, and `why` is the
	 * reason, a phrase "code ...".
	 */
	size_t body, end;
	const char *why;
	/*
	 * Offsets of the declaration's text, if a copy can repeat it under another name. The name begins at name_at and
	 * ends at name_end. The parameters begin at `params` and end at params_end. Otherwise params_end is 0.
	 */
	size_t start, name_at, name_end, params, params_end;
	size_t at;             /* offset in the source at which a copy can be inserted */
	uint32_t line, column; /* line (considering #line) and column of the text at `at` */
	uint32_t body_line, body_column;
	/* file name that #line sets at the body's start; NULL: the name does not differ between the body and `at` */
	const char *body_file;
	const char *pretty; /* value of __PRETTY_FUNCTION__; NULL: the body does not use it */
};

/* A place in one function. An access can be a place of several kinds, for example of loads and of global memory. */
struct cl_place {
	enum gpubpf_site kind;
	uint32_t id, line;      /* number among the function's places of this kind; source line */
	uint32_t event, access; /* index in the function's events; index in the event's accesses */
	uint32_t site;          /* index of the place's site in the job; UINT32_MAX: no site */
};

struct gpubpf_cl_kernel {
	/* short name, parameters, flags, and the reason why the kernel cannot be probed */
	struct gpubpf_kernel_info info;
	const char *name; /* full name, as in the source */
	/* the declaration's text before "void name(" and after the closing parenthesis */
	const char *head, *tail;
	const char **type; /* [info.nparams]: complete text of each parameter's type */
	/* [info.nparams]: text of each type without const and volatile at the top level */
	const char **unqualified;
	size_t at;             /* offset in the source at which a wrapper can be inserted */
	uint32_t line, column; /* line (considering #line) and column of the text at `at` */
	/* offsets of the text between the body's braces; both 0: the body cannot be repeated */
	size_t body, body_end;
	uint32_t body_line, body_column; /* line and column of the body's first character */
	const char *body_file, *pretty;  /* as in struct gpubpf_cl_function */
	const char *why;                 /* why a wrapper cannot repeat the body, a phrase "code ..." */
	/* if the wrapper must repeat the body (__local variables) but cannot: the reason, else NULL */
	const char *no_wrapper;
	uint32_t function; /* index in unit->function */
	const char *error; /* clang's first error inside the kernel's definition; NULL: none */
};

struct gpubpf_cl_unit {
	struct gpubpf_cl_kernel *kernel; /* in the order of their definitions */
	uint32_t nkernels;
	const char **macro; /* names of all macros that the application defines, sorted */
	uint32_t nmacros;
	struct gpubpf_cl_function *function; /* NULL if no places are requested */
	uint32_t nfunctions;
	/* clang's first error, with its line; NULL: clang understood the entire source */
	const char *error;
	/* why the device's compiler may see another text than clang; NULL: both see the same text */
	const char *differs;
	uint64_t includes;    /* hash of the contents of all included files */
	const char *included; /* comment lines that list the included files (core/wire/included.h) */
};

struct cl_dialect;

/* one OpenCL C source with the options and headers that clCompileProgram receives */
struct gpubpf_cl_source {
	const char *text;
	size_t size;
	const char *options, *cwd;
	const struct gpubpf_header *headers;
	uint32_t nheaders;
	/* GPUBPF_SITE_BIT of the requested place kinds at instructions and functions */
	uint32_t places;
	/* the language settings of the device's compiler (backends/spirv/opencl_c/read/dialect.h); NULL: unknown */
	const struct cl_dialect *dialect;
	/*
	 * Time of the application's build in ns since 1970; 0: unknown. If an included file changed later, the text
	 * that was built is unknown.
	 */
	uint64_t built_ns;
};

#endif
