/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_WIRE_IMAGE_FORMAT_H
#define GPUBPF_BACKENDS_HIP_WIRE_IMAGE_FORMAT_H

#include <stdint.h>

#include "core/wire/caps.h"

/* Returns the size of an image that the application passes to the runtime by address only. The image is a code object
 * (ELF), a bundle of code objects, or a compressed bundle. The function reads only bytes that the runtime reads too.
 * Returns 0 if the format is unknown or does not state its size. */
uint64_t hip_image_size(const void *image, enum gpubpf_image_kind *kind);

#endif
