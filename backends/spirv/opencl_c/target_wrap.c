/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the target "wrap" of gpubpf-clread. It inserts probes into an OpenCL C source, or into all sources of a
 * linked OpenCL program.
 */
#include "core/model/diag.h"
#include "image.h"
#include "target_wrap.h"

/* Read every written source again, and report clang's first error in a wrapper. */
static int wrap_validate(const struct gpubpf_twin_piece *piece, const struct gpubpf_device_caps *caps,
			 struct gpubpf_diag *diag)
{
	struct gpubpf_image image = { .data = piece->blob.data, .size = piece->blob.size, .kind = piece->kind, .options = "" };
	struct wrap_image p = { 0 };
	int err = wrap_image_read(&p, &image, 0, caps, diag);

	for (uint32_t i = 0; !err && i < p.parts.nparts; i++)
		for (uint32_t k = 0; !err && k < p.unit[i].nkernels; k++) {
			const char *wrong = wrap_find_error(&p.unit[i], &p.unit[i].kernel[k]);

			if (wrong)
				err = gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "the wrapper %s: %s",
						      p.unit[i].kernel[k].info.name, wrong);
		}
	wrap_image_finish(&p);
	return err;
}

const struct gpubpf_target gpubpf_target_wrap = {
	.query = wrap_query,
	.inspect = wrap_inspect,
	.inject = wrap_inject,
	.validate = wrap_validate,
};
