/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the target wrap: its operations, and images split into their parts, which are read separately. */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_IMAGE_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_IMAGE_H

#include "backends/spirv/wire/parts.h"
#include "backends/spirv/opencl_c/read/read.h"

/* an opened image: its parts, and a unit for each part that is source */
struct wrap_image {
	struct gpubpf_pool pool;
	struct gpubpf_cl_parts parts;
	struct gpubpf_cl_part single;
	bool owned; /* wrap_image_finish() frees `parts` */
	struct gpubpf_cl_source *source;
	struct gpubpf_cl_unit *unit;
	struct cl_dialect **dialect; /* dialect of each part; NULL: unknown */
	/* the dialects of the same parts without wrappers; NULL: derive them from the image's answer */
	struct cl_dialect *const *known_dialects;
	bool has_globals; /* a part has writable program-scope variables */
};

/* Open an image, with the source's functions if places of instructions are requested (GPUBPF_SITE_BIT). 0, -ENOMEM, or
 * -EINVAL with a diagnostic. The caller calls wrap_image_finish() in every case. */
int wrap_image_read(struct wrap_image *p, const struct gpubpf_image *image, uint32_t places,
		    const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag);
void wrap_image_finish(struct wrap_image *p);
/* Returns why the kernel cannot be probed, considering the device and the other parts too; "": it can. */
const char *wrap_reason(const struct wrap_image *p, const struct gpubpf_cl_kernel *kernel,
			const struct gpubpf_device_caps *caps);

/* May the compiler compute other results for the same arithmetic when it is surrounded by other code? */
bool wrap_has_loose_math(const struct wrap_image *p);

/* Returns clang's first error in a wrapper. NULL: none, or the kernel that it wraps has an error itself. */
const char *wrap_find_error(const struct gpubpf_cl_unit *unit, const struct gpubpf_cl_kernel *twin);

/* the operations of struct gpubpf_target */
int wrap_query(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps, struct gpubpf_twin_image *out,
	       struct gpubpf_diag *diag);
int wrap_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		 struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag);
int wrap_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag);

#endif
