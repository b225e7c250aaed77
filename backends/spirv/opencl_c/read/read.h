/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads OpenCL C source with the front end of clang 22. It finds the kernels, the declarations that a wrapper must
 * repeat, and the offsets at which a wrapper can be inserted. This code runs in gpubpf-clread, the only process that
 * loads libclang.
 *
 * Errors in the source are not reported, because the vendor's compiler decides whether the source is valid. A kernel
 * whose declaration clang does not understand gets a reason why it cannot be probed. The other kernels are read.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_READ_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_READ_H

#include "backends/spirv/opencl_c/unit.h"

/* the rest of a diagnostic that begins with a header's name */
#define GPUBPF_CL_HEADER_MISSING ", which the program includes, was deleted after the build, so the compiled text is unknown; " \
		       "keep the headers until the application ends"

/*
 * Read a source. The pool owns the result. If places are requested and macro expansions hide some of them, the function
 * replaces these expansions in source->text (backends/spirv/opencl_c/event/expand.c). All offsets in the unit refer to
 * the resulting text. Returns 0, -ENOMEM, or -EINVAL with a diagnostic if the source cannot be read.
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
/*
 * Returns the build options, together with -I options for the folders that the device's compiler searches by default
 * when it runs in `cwd` (args.c). Returns NULL if memory runs out.
 */
const char *gpubpf_cl_search_options(const char *options, const char *cwd, const struct gpubpf_device_caps *caps,
				     struct gpubpf_pool *pool);
/*
 * The virtual folder in which clang finds headers of clCompileProgram. It also contains the source if the application's
 * working directory is unknown.
 */
#define GPUBPF_CL_FOLDER "/gpubpf-program"

#endif
