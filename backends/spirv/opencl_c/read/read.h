/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads OpenCL C source with clang 22's front end: the kernels, the declarations that a wrapper must repeat, and where
 * a wrapper may stand. It runs in gpubpf-clread, the only process that loads libclang. Errors in the source are not
 * reported: the vendor's compiler judges the source. A kernel whose declaration clang does not understand gets a
 * reason; the others are read.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_READ_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_READ_H

#include "core/target.h"
#include "core/wire/pool.h"
#include "backends/spirv/opencl_c/event/event.h"

struct gpubpf_cl_kernel {
	struct gpubpf_kernel_info info;  /* name in its short form, parameters, flags, reason */
	const char *name;                /* as the source has it */
	const char *head, *tail;         /* the text before "void name(" and after its ")" */
	const char **type;               /* [nparams] complete text of each type */
	const char **bare;               /* [nparams] the same without const and volatile at the top level */
	size_t at;                       /* offset in the source where a wrapper may stand */
	uint32_t line, column;           /* #line number and column of the text that follows there */
	/* the text between its braces in the source; both 0: the body cannot be repeated */
	size_t body, body_end;
	uint32_t body_line, body_column; /* of the first character there */
	const char *body_file, *pretty;  /* as in struct gpubpf_cl_function (backends/spirv/opencl_c/event/event.h) */
	const char *why;                 /* why it cannot be repeated: "code ..." */
	/* why the wrapper cannot be written, if it must repeat the body; NULL: it can */
	const char *no_wrapper;
	uint32_t function;               /* index in the unit */
	const char *error;               /* clang's first error in its text; NULL: none */
};

struct gpubpf_cl_unit {
	struct gpubpf_cl_kernel *kernel; /* in the order of their definitions */
	uint32_t nkernels;
	const char **macro;              /* names of all macros that the application defines, sorted */
	uint32_t nmacros;
	struct gpubpf_cl_function *function; /* only if places are requested: backends/spirv/opencl_c/event/event.h */
	uint32_t nfunctions;
	/* clang's first error, with its line; NULL: clang understood the whole source */
	const char *error;
	const char *differs;             /* why the device's compiler may see another text; NULL: it sees this one */
	uint64_t includes;               /* hash of the contents of all included files */
	const char *included;            /* comment lines: core/wire/included.h */
};

/* follows a header's name in a diagnostic */
#define GPUBPF_CL_HEADER_MISSING ", which the program includes, was deleted after the build, so the compiled text is unknown; " \
		       "keep headers until the program ends"

struct cl_dialect;

/* one source, as clCompileProgram gets it */
struct gpubpf_cl_source {
	const char *text;
	size_t size;
	const char *options, *cwd;
	const struct gpubpf_header *headers;
	uint32_t nheaders;
	uint32_t places;                 /* GPUBPF_SITE_BIT: the requested places of instructions and functions */
	const struct cl_dialect *dialect; /* of the device's compiler (dialect.h); NULL: unknown */
	/* time of the build, 0 if unknown; the content of files that changed later is unknown */
	uint64_t built_ns;
};

/*
 * Read a source; the pool owns the result. If places are requested and uses of macros hide some, the function replaces
 * these uses in the source's text (backends/spirv/opencl_c/event/expand.c). The unit's offsets refer to this text. 0, -ENOMEM, or -EINVAL and a
 * diagnostic if the source cannot be read.
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
/* The options with the folders that the device's compiler searches by default when it runs in `cwd` (args.c). NULL: no
 * memory. */
const char *gpubpf_cl_search_options(const char *options, const char *cwd, const struct gpubpf_device_caps *caps, struct gpubpf_pool *pool);
/* the apparent folder of headers of clCompileProgram, and of the source if its own folder is unknown */
#define GPUBPF_CL_FOLDER "/gpubpf-program"

#endif
