/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of the target wrap, and images that are split into parts. A linked OpenCL program has several parts,
 * which are read separately. Private to the target wrap.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_IMAGE_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_IMAGE_H

#include "backends/spirv/wire/parts.h"
#include "backends/spirv/opencl_c/read/read.h"

/* an opened image: its parts, and the reading result (unit) of each part that is OpenCL C source */
struct wrap_image {
	struct gpubpf_pool pool;
	struct gpubpf_cl_parts parts;
	struct gpubpf_cl_part single;
	bool owned; /* `parts` was allocated, and wrap_image_finish() frees it */
	struct gpubpf_cl_source *source;
	struct gpubpf_cl_unit *unit;
	struct cl_dialect **dialect; /* dialect of the compiler for each part; NULL: unknown */
	/* dialects of the same parts from an earlier reading; NULL: derive the dialects from the image's answer */
	struct cl_dialect *const *known_dialects;
	bool has_globals; /* a part has writable program-scope variables */
};

/*
 * Open an image and read its parts. `places` are the requested kinds (GPUBPF_SITE_BIT); functions are read only for
 * places at instructions or functions. Returns 0, -ENOMEM, or -EINVAL with a diagnostic. The caller must always call
 * wrap_image_finish().
 */
int wrap_image_read(struct wrap_image *p, const struct gpubpf_image *image, uint32_t places,
		    const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag);
void wrap_image_finish(struct wrap_image *p);
/*
 * Returns why the GPU kernel cannot be probed, or "" if it can. The reason may also be the device or another part of
 * the image.
 */
const char *wrap_reason(const struct wrap_image *p, const struct gpubpf_cl_kernel *kernel,
			const struct gpubpf_device_caps *caps);

/* Do the build options permit inexact arithmetic, whose results may change if a probe is inserted next to it? */
bool wrap_has_loose_math(const struct wrap_image *p);

/*
 * Returns clang's first error in a wrapper (twin). Returns NULL if there is no error, or if the original kernel has one
 * too.
 */
const char *wrap_find_error(const struct gpubpf_cl_unit *unit, const struct gpubpf_cl_kernel *twin);

/* the functions of the target's struct gpubpf_target */
int wrap_query(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps, struct gpubpf_twin_image *out,
	       struct gpubpf_diag *diag);
int wrap_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		 struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag);
int wrap_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag);

#endif
