/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dialect of a device's compiler: the options and macros with which clang 22 sees the same source text as that
 * compiler.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_DIALECT_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_DIALECT_H

#include "query.h"

struct cl_dialect {
	/* clang's -cl-std option for the language nearest to that of the device's compiler; NULL: unknown */
	const char *standard;
	/* clang's -cl-ext option for extensions and features; "": the defaults of the target triple */
	const char *features;
	/* directives that give clang the macros of the device's compiler; "": the macros are equal */
	const char *macros;
	/* why the device's compiler may see another text than clang; NULL: both see the same text */
	const char *differs;
};

/*
 * Name of the virtual file that contains cl_dialect.macros. The reader treats macros of files with the prefix
 * "/opencl-c" as the compiler's own.
 */
#define GPUBPF_CL_MACROS GPUBPF_CL_FOLDER "/opencl-c-device.h"

/*
 * Derive the dialect from the answer of the device's compiler to the source's query. The answer is untrusted; it is
 * "!why" if the compiler gave none. The pool owns the result. Returns 0, -ENOMEM, or -EINVAL with a diagnostic.
 */
int gpubpf_cl_dialect(const struct gpubpf_cl_source *source, const char *answer, const struct gpubpf_device_caps *caps,
		      struct gpubpf_pool *pool, struct cl_dialect *dialect, struct gpubpf_diag *diag);

#endif
