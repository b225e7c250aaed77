/* SPDX-License-Identifier: Apache-2.0 */
/* The language of a device's compiler: how clang 22 must read a source so that both compilers see the same text. */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_DIALECT_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_DIALECT_H

#include "query.h"

struct cl_dialect {
	const char *standard; /* clang's option for the language nearest to the device's; NULL: unknown */
	const char *features; /* clang's option for extensions and features; "": use the triple's */
	const char *macros;   /* directives that turn clang's macros into the device's; "": they are equal */
	const char *differs;  /* why the device's compiler may see another text; NULL: it sees this one */
};

/* The file that contains cl_dialect.macros. The reader treats files with this prefix (/opencl-c) as the compiler's
 * own. */
#define GPUBPF_CL_MACROS GPUBPF_CL_FOLDER "/opencl-c-device.h"

/*
 * Derive the dialect from the device's answer to the source's query. The answer is untrusted; "!why" if the compiler
 * gave none. The pool owns the result. 0, -ENOMEM, or -EINVAL and a diagnostic.
 */
int gpubpf_cl_dialect(const struct gpubpf_cl_source *source, const char *answer, const struct gpubpf_device_caps *caps,
		      struct gpubpf_pool *pool, struct cl_dialect *dialect, struct gpubpf_diag *diag);

#endif
