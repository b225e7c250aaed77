/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the target wrap: images as their parts, which are read one by one; its operations. */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_IMAGE_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_IMAGE_H

#include "backends/spirv/wire/parts.h"
#include "read.h"

/* an image being read: its parts, and a unit for each part that is source */
struct wrap_image {
	struct gpubpf_pool pool;
	struct gpubpf_cl_parts parts;
	struct gpubpf_cl_part single;
	bool owned;                     /* parts came from a container */
	struct gpubpf_cl_source *source;
	struct gpubpf_cl_unit *unit;
	struct cl_dialect **dialect;    /* of each part, NULL: not known */
	struct cl_dialect *const *known; /* of the same parts before they had wrappers; NULL: by the image's answer */
	bool globals;                   /* in any part */
};

/* With the functions of the source if places of instructions are asked for (GPUBPF_TAKES). 0, -ENOMEM or -EINVAL with a
 * diagnostic; to be finished either way. */
int wrap_image_read(struct wrap_image *p, const struct gpubpf_image *image, uint32_t places,
		    const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag);
void wrap_image_finish(struct wrap_image *p);
/* Why the kernel cannot be taken, with what the unit alone cannot know: the device, and the other parts; "": it can. */
const char *wrap_reason(const struct wrap_image *p, const struct gpubpf_cl_kernel *kernel,
			const struct gpubpf_device_caps *caps);

/* May the compiler make other values of the same arithmetic, by what stands beside it? */
bool wrap_loose_math(const struct wrap_image *p);

/* What is wrong with a wrapper, and not with the kernel that it is of, which stands before it; NULL: nothing. */
const char *wrap_wrong(const struct gpubpf_cl_unit *unit, const struct gpubpf_cl_kernel *twin);

/* struct gpubpf_target's */
int wrap_query(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps, struct gpubpf_twin_image *out,
	       struct gpubpf_diag *diag);
int wrap_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		 struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag);
int wrap_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag);

#endif
