/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_COMPRESSED_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_COMPRESSED_H

#include <stdbool.h>

#include "core/target.h"

/* Compressed bundles (Clang Offload Bundler, "Compressed Bundle Format", versions 1 to 3). */
bool hip_is_compressed(const void *image, size_t size);
/* Decompresses the bundle. The caller frees out->data. Returns 0, -EINVAL with the reason, or -ENOMEM. */
int hip_decompress(const void *image, size_t size, struct gpubpf_blob *out, struct gpubpf_diag *diag);

#endif
