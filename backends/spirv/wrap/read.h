/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenCL C source as clang 22's front end reads it: the kernels, what a wrapper of each must repeat, and
 * where in the source it may stand. Lives in gpubpf-clread, the only process that has libclang. Errors
 * in the source are not ours: the vendor's compiler is the judge; a kernel whose declaration clang does
 * not understand gets a reason, the others are read.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_READ_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_READ_H

#include "core/target.h"
#include "core/wire/pool.h"
#include "event.h"

struct gpubpf_cl_kernel {
	struct gpubpf_kernel_info info;  /* name in its short form, parameters, flags, reason */
	const char *name;                /* as the source has it */
	const char *head, *tail;         /* what stands before "void name(" and after its ")" */
	const char **type;               /* [nparams] whole text of each type */
	const char **bare;               /* [nparams] the same without const and volatile on top */
	size_t at;                       /* offset in the source where a wrapper may stand */
	uint32_t line, column;           /* #line number and column of what follows there */
	size_t body, body_end;           /* between its braces in the source; both 0: it cannot be repeated */
	uint32_t body_line, body_column; /* of the first character there */
	const char *body_file, *pretty;  /* as a function has them: event.h */
	const char *why;                 /* why it cannot be repeated: "code ..." */
	const char *no_wrapper;          /* why its wrapper, which repeats the body, cannot be written; NULL: it can */
	uint32_t function;               /* index in the unit */
	const char *error;               /* the first that clang found in its text; NULL: none */
};

struct gpubpf_cl_unit {
	struct gpubpf_cl_kernel *kernel; /* in the order of their definitions */
	uint32_t nkernels;
	const char **macro;              /* names of all macros that the application defines, sorted */
	uint32_t nmacros;
	struct gpubpf_cl_function *function; /* where places are asked for: event.h */
	uint32_t nfunctions;
	const char *error;               /* the first that clang found, with its line; NULL: it has understood all of it */
	const char *differs;             /* why the device's compiler may read another text; NULL: it does not */
	uint64_t includes;               /* hash of the content of all files that were included */
	const char *included;            /* lines: core/wire/included.h */
};

/* behind a header's name */
#define GPUBPF_CL_GONE ", which the program includes, is gone since it was built: what was compiled is not known; keep headers until " \
		       "the program ends"

struct cl_dialect;

/* one source, as clCompileProgram gets it */
struct gpubpf_cl_source {
	const char *text;
	size_t size;
	const char *options, *cwd;
	const struct gpubpf_header *headers;
	uint32_t nheaders;
	uint32_t places;                 /* GPUBPF_TAKES: the places of instructions and functions that are asked for */
	const struct cl_dialect *dialect; /* of the device's compiler, dialect.h; NULL: not known */
	uint64_t built_ns;               /* files that changed since are not what was compiled; 0: not known */
};

/*
 * Read; everything lies in the pool. Where places are asked for, uses of macros that hide some are replaced in the source's
 * text, which is what the unit's offsets are in (expand.c). 0, -ENOMEM, or -EINVAL and a diagnostic if nothing can be read.
 */
int gpubpf_cl_read(struct gpubpf_cl_source *source, const struct gpubpf_device_caps *caps,
		   struct gpubpf_pool *pool, struct gpubpf_cl_unit *unit, struct gpubpf_diag *diag);

/* clang's command line for a source on a device: args.c */
struct gpubpf_cl_args {
	const char **arg;
	int n;
};
int gpubpf_cl_make_args(const struct gpubpf_cl_source *source, const struct gpubpf_device_caps *caps,
			struct gpubpf_pool *pool, struct gpubpf_cl_args *args);
/* The options with the folders that the device's compiler looks into by itself, as it does in `cwd`. NULL: no memory. args.c */
const char *gpubpf_cl_search(const char *options, const char *cwd, const struct gpubpf_device_caps *caps, struct gpubpf_pool *pool);
/* where headers of clCompileProgram seem to lie, and the source when its folder is unknown */
#define GPUBPF_CL_FOLDER "/gpubpf-program"

#endif
