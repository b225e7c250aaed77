/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads OpenCL C source with clang 22's front end: the kernels, the declarations that a wrapper must repeat, and where
 * a wrapper may stand. It runs in gpubpf-clread, the only process that loads libclang. Errors in the source are not
 * reported: the vendor's compiler judges the source. A kernel whose declaration clang does not understand gets a
 * reason; the others are read.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_READ_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_READ_H

#include "backends/spirv/opencl_c/unit.h"

/* follows a header's name in a diagnostic */
#define GPUBPF_CL_HEADER_MISSING ", which the program includes, was deleted after the build, so the compiled text is unknown; " \
		       "keep headers until the program ends"

/*
 * Read a source; the pool owns the result. If places are requested and uses of macros hide some, the function replaces
 * these uses in the source's text (backends/spirv/opencl_c/event/expand.c). The unit's offsets refer to this text. 0, -ENOMEM, or -EINVAL and a
 * diagnostic if the source cannot be read.
 */
int gpubpf_cl_read(struct gpubpf_cl_source *source, const struct gpubpf_device_caps *caps, struct gpubpf_pool *pool,
		   struct gpubpf_cl_unit *unit, struct gpubpf_diag *diag);

/* clang's command line for a source on a device: args.c */
struct gpubpf_cl_args {
	const char **arg;
	int n;
};
int gpubpf_cl_make_args(const struct gpubpf_cl_source *source, const struct gpubpf_device_caps *caps,
			struct gpubpf_pool *pool, struct gpubpf_cl_args *args);
/* Returns the options, with the folders that the device's compiler searches by default when it runs in `cwd` (args.c).
 * NULL: no memory. */
const char *gpubpf_cl_search_options(const char *options, const char *cwd, const struct gpubpf_device_caps *caps,
				     struct gpubpf_pool *pool);
/* the folder in which clang sees headers of clCompileProgram, and the source if its own folder is unknown */
#define GPUBPF_CL_FOLDER "/gpubpf-program"

#endif
