/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_BUNDLE_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_BUNDLE_H

#include "core/target.h"

/* Finds the code object for an architecture ("gfx90a", "gfx90a:sramecc+:xnack-") in an image. The image is a code
 * object, or a bundle of code objects, compressed or not (Clang Offload Bundler, "Bundled Code Object Layout"). The
 * result *out points into the image, or into *plain, which the caller frees (NULL: not compressed). */
int hip_bundle_pick(const struct gpubpf_image *image, const char *arch, void **plain, struct gpubpf_blob *out,
		    struct gpubpf_diag *diag);

#endif
