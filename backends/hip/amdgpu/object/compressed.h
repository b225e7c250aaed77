/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_COMPRESSED_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_COMPRESSED_H

#include <stdbool.h>

#include "core/target.h"

/* Returns true if the image is a compressed bundle (Clang Offload Bundler, "Compressed Bundle Format"). */
bool hip_is_compressed(const void *image, size_t size);
/* Decompresses a bundle of format version 1 to 3. The caller frees out->data. Returns 0, -EINVAL with the reason, or
 * -ENOMEM. */
int hip_decompress(const void *image, size_t size, struct gpubpf_blob *out, struct gpubpf_diag *diag);

#endif
