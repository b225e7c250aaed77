/* SPDX-License-Identifier: Apache-2.0 */
/* The clc target: the text of core/lower/clc.h. Wrapping a source around it is the target wrap's. */
#include "target.h"

#include <errno.h>
#include <string.h>

#include "core/diag.h"
#include "core/lower/clc.h"

static int clc_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		      const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "OpenCL C is probed by wrapper kernels (target wrap)");
	return -EOPNOTSUPP;
}

/* Text without NULs that ends its last line; compilers are the real judges (tests/lower). */
static int clc_validate(const struct gpubpf_blob *blob, struct gpubpf_diag *diag)
{
	const char *text = blob->data;

	if (!blob->size || memchr(text, '\0', blob->size) || text[blob->size - 1] != '\n')
		return gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "the OpenCL C text is cut off");
	return 0;
}

const struct gpubpf_target gpubpf_target_clc = {
	.name = "clc",
	.meaning = "OpenCL C 1.2 text",
	.output = GPUBPF_IMAGE_OPENCL_C,
	.emit = gpubpf_clc_emit,
	.inject = clc_inject,
	.validate = clc_validate,
};
