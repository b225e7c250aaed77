/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_WIRE_IMAGE_FORMAT_H
#define GPUBPF_BACKENDS_HIP_WIRE_IMAGE_FORMAT_H

#include <stdint.h>

#include "core/wire/caps.h"

/* Returns the size of an image for which the application passes only an address to the runtime. The image is a code
 * object (ELF), a bundle of code objects, or a compressed bundle. The function only reads bytes that the runtime also
 * reads. Returns 0 if the format is unknown or does not state the size. */
uint64_t hip_image_size(const void *image, enum gpubpf_image_kind *kind);

#endif
