/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of reading a source in OpenCL C: kernels, functions, and the events in their text.
 *
 * The events in a function's text, taken from libclang's syntax tree. Memory accesses: subscripts, dereferences,
 * members, and named variables of memory. Calls: functions of OpenCL C by backends/spirv/opencl_c/event/builtin.def, and
 * functions of the source.
 * Also barriers, conditions, marks and, if requested, lines. Named private variables and their members are no memory:
 * compilers keep them in registers. Each event is an expression whose text a probed copy of the function replaces. If
 * no text belongs to the expression alone, the event has a reason instead.
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
/* Values of the int members of struct cl_access that are no part's index. NONE: absent. HIDDEN: a value without a name
 * in the source. RESULT: the expression's value. STEP_UP, STEP_DOWN: that value plus or minus 1. ONE: the constant
 * 1. */
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
	CLREAD_ASSIGN, /* assigns part 1 to part 0; `member` follows part 0 */
	CLREAD_UPDATE, /* +=, ++, -- or another update of part 0 */
	CLREAD_CALL,   /* call of a function of OpenCL C; the arguments are the parts */
	CLREAD_BARRIER,
	CLREAD_CONDITION, /* compares part 0 with 0 */
	CLREAD_SWITCH,    /* switch (part 0) */
	CLREAD_FUNCTION,  /* calls a function of the source; part 0 is its name, part 1 the opening parenthesis */
	CLREAD_MARK,      /* use of the mark macro; part 0 is its value */
	CLREAD_LINE,      /* a statement that begins a line; for a declaration, the point before it */
	CLREAD_UNSEEN,
};

struct cl_part {
	size_t start, end;
	/* type of the variable that stores the part's value, or an lvalue's address; NULL: no variable stores it */
	const char *type;
	/* `align`: the lvalue's alignment if it is lower than its type's, else 0; `pointed` is then the prefix of
	 * `type` that names the lvalue's type */
	const char *pointed;
	uint32_t align;
};

/* one access of an event; the int members are indices of parts, or CLREAD_NONE to CLREAD_ONE */
struct cl_access {
	enum gpubpf_mem_access access; /* 0: any kind, if the event is unseen */
	uint32_t spaces;               /* GPUBPF_IN */
	/* the access begins `index` times `stride` bytes after the pointer; it covers `bytes`, multiplied by `times` */
	int pointer, index, times;
	uint32_t stride, offset;
	uint32_t bytes, count; /* size in bytes; number of elements */
	/* the value that is stored, or combined by an atomic */
	int value;
	enum gpubpf_rmw rmw;
	int operand;
	bool group; /* the block makes the access; its first lane reports it */
};

struct cl_event {
	enum cl_form form;
	uint32_t line;
	size_t start, end; /* its text in the source */
	uint32_t order;    /* its position in the walk: an enclosing event precedes its parts */
	struct cl_part part[CLREAD_MAX_PARTS];
	uint32_t nparts;
	const char *type;   /* type of the expression's value; NULL if no code uses the value or there is none */
	const char *member; /* ASSIGN: "", or ".x" */
	/* ASSIGN: compilers evaluate part 1 (the value) before part 0 (the target). LINE: code uses the statement's
	 * value. */
	bool value_first;
	struct cl_access access[CLREAD_MAX_ACCESSES];
	uint32_t naccesses;
	enum gpubpf_barrier_kind barrier; /* 0: no barrier */
	uint32_t function;                /* FUNCTION: index in the unit */
	const char *name;                 /* MARK: the mark's name. LINE: FILE:LINE */
	/* the code that prevents an exact description of the event, as a phrase; NULL: none does */
	const char *unseen;
	bool by_macro; /* unseen because a macro produces part of the text */
};

struct gpubpf_cl_kernel;

/* a function of the source, including kernels */
struct gpubpf_cl_function {
	const char *name;
	bool kernel, called; /* called: another function or kernel calls it */
	/* this function, or one that it calls, declares local variables: no other function may contain a copy of its
	 * text */
	bool local;
	/* Set only if places of functions are requested. The signature describes the parameters as a kernel's. The
	 * other two members describe the returned value and name its type (NULL for void). */
	const struct gpubpf_cl_kernel *signature;
	struct gpubpf_param result;
	const char *result_type;
	struct cl_event *event; /* in the order of the text */
	uint32_t nevents;
	uint32_t *callee; /* indices in the unit */
	uint32_t ncallees;
	/* The body's text between the braces, if it can be repeated. Otherwise end is 0, and `why` is the reason: "code
	 * ...". */
	size_t body, end;
	const char *why;
	/* The head's text, if it can be repeated under another name; the name's range is name_at to name_end. Otherwise
	 * params_end is 0. */
	size_t start, name_at, name_end, params, params_end;
	size_t at;             /* offset in the source where a copy may stand */
	uint32_t line, column; /* of the source text at `at` */
	uint32_t body_line, body_column;
	/* the file name that #line sets at the body's start; NULL: the name is still the same at the body's end */
	const char *body_file;
	const char *pretty; /* __PRETTY_FUNCTION__; NULL: the body does not use it */
};

/* A place in one function. One access is a place of several kinds if it matches them. */
struct cl_place {
	enum gpubpf_site kind;
	uint32_t id, line;      /* number among the function's places of this kind; source line */
	uint32_t event, access; /* index in the function; index in the event */
	uint32_t site;          /* index of the place's site in the job; UINT32_MAX: no site */
};

struct gpubpf_cl_kernel {
	struct gpubpf_kernel_info info; /* name in its short form, parameters, flags, reason */
	const char *name;               /* as the source has it */
	const char *head, *tail;        /* the text before "void name(" and after its ")" */
	const char **type;              /* [nparams] complete text of each type */
	const char **unqualified;       /* [nparams] text of each type, without const and volatile at the top level */
	size_t at;                      /* offset in the source where a wrapper may stand */
	uint32_t line, column;          /* #line number and column of the source text at `at` */
	/* the text between its braces in the source; both 0: the body cannot be repeated */
	size_t body, body_end;
	uint32_t body_line, body_column; /* of the first character of the body */
	const char *body_file, *pretty;  /* see the members of struct gpubpf_cl_function */
	const char *why;                 /* why the body cannot be repeated: "code ..." */
	/* why the wrapper cannot be written, if it must repeat the body; NULL: it can */
	const char *no_wrapper;
	uint32_t function; /* index in the unit */
	const char *error; /* clang's first error in its text; NULL: none */
};

struct gpubpf_cl_unit {
	struct gpubpf_cl_kernel *kernel; /* in the order of their definitions */
	uint32_t nkernels;
	const char **macro; /* names of all macros that the application defines, sorted */
	uint32_t nmacros;
	struct gpubpf_cl_function *function; /* NULL unless places are requested */
	uint32_t nfunctions;
	/* clang's first error, with its line; NULL: clang understood the whole source */
	const char *error;
	const char *differs;  /* why the device's compiler may see another text; NULL: it sees this one */
	uint64_t includes;    /* hash of the contents of all included files */
	const char *included; /* comment lines: core/wire/included.h */
};

struct cl_dialect;

/* one source, as clCompileProgram gets it */
struct gpubpf_cl_source {
	const char *text;
	size_t size;
	const char *options, *cwd;
	const struct gpubpf_header *headers;
	uint32_t nheaders;
	uint32_t places;                  /* GPUBPF_SITE_BIT: the requested places of instructions and functions */
	const struct cl_dialect *dialect; /* of the device's compiler (backends/spirv/opencl_c/read/dialect.h); NULL: unknown */
	/* time of the build, 0 if unknown; the content of files that changed later is unknown */
	uint64_t built_ns;
};

#endif
