/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_WIRE_IMAGE_FORMAT_H
#define GPUBPF_BACKENDS_HIP_WIRE_IMAGE_FORMAT_H

#include <stdint.h>

#include "core/wire/caps.h"

/* Bytes of an image that the application hands to the runtime by its address alone: a code object (ELF), a
 * bundle of them, or a compressed one. It is read as far as the runtime reads it too. 0: of no kind that is
 * known, or one that does not say its size. */
uint64_t hip_image_size(const void *image, enum gpubpf_image_kind *kind);

#endif
