/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_SASS_TARGET_H
#define GPUBPF_SASS_TARGET_H

#include "core/target.h"

extern const struct gpubpf_target gpubpf_target_sass;

/* These functions are operations of struct gpubpf_target. */
int sass_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		 struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag);
int sass_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag);

#endif
