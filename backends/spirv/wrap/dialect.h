/* SPDX-License-Identifier: Apache-2.0 */
/* The language that a device's compiler reads: how clang 22 must read a source so that both see the same text. */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_DIALECT_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_DIALECT_H

#include "query.h"

struct cl_dialect {
	const char *standard;        /* clang's option for the language that is nearest to the device's; */
	const char *features;        /* clang's option for extensions and features, "": those of the triple; */
	const char *macros;          /* directives that make clang's macros the device's; "": they are */
	const char *differs;         /* why the device's compiler may read another text; NULL: it reads this */
};

/* The file with the macros. The reader takes macros of files with this beginning (/opencl-c) for the compiler's own. */
#define GPUBPF_CL_MACROS GPUBPF_CL_FOLDER "/opencl-c-device.h"

/*
 * By the device's answer, which may be anything, to the query of that source; "!why" where its compiler gave none. All of it
 * lies in the pool. 0, -ENOMEM, or -EINVAL and a diagnostic.
 */
int gpubpf_cl_dialect(const struct gpubpf_cl_source *source, const char *answer, const struct gpubpf_device_caps *caps,
		      struct gpubpf_pool *pool, struct cl_dialect *dialect, struct gpubpf_diag *diag);

#endif
