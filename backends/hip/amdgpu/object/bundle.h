/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_BUNDLE_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_BUNDLE_H

#include "core/target.h"

/* Finds the code object for an architecture ("gfx90a", "gfx90a:sramecc+:xnack-") in an image. The image is a code
 * object, or a bundle of code objects (Clang Offload Bundler, "Bundled Code Object Layout"), which may be compressed.
 * *out points into the image. If the image is compressed, *out points into *plain, which the caller frees; else *plain
 * is NULL. */
int hip_bundle_pick(const struct gpubpf_image *image, const char *arch, void **plain, struct gpubpf_blob *out,
		    struct gpubpf_diag *diag);

#endif
