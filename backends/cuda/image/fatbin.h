/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the images that CUDA programs pass to the driver: PTX text, cubins, and fat binaries with uncompressed, LZ4 or
 * zstd entries. The input is not trusted: all sizes are checked, and the decompressed size is bounded.
 */
#ifndef GPUBPF_BACKENDS_CUDA_IMAGE_FATBIN_H
#define GPUBPF_BACKENDS_CUDA_IMAGE_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/cuda/wire/fatbin_format.h"

struct gpubpf_diag;

#define CUDA_PTX_MAX (512u << 20)        /* largest size of one PTX text in bytes, after decompression */

/* Calls fn for each entry. A non-zero return of fn ends the walk and is returned. Returns 0 or -EINVAL. */
int fatbin_walk(const void *data, size_t size, int (*fn)(void *arg, const struct fatbin_entry *entry), void *arg,
		struct gpubpf_diag *diag);
/* Extracts the entry's content. *data is malloc'd and ends with a NUL that *size does not count. */
int fatbin_extract(const struct fatbin_entry *entry, char **data, size_t *size, struct gpubpf_diag *diag);

/*
 * Finds the PTX from which a twin for compute capability `sm` (90 for 9.0) is made. *text is malloc'd. The kind of
 * image decides which PTX this is:
 *
 * - For PTX text, the same text.
 *
 * - For a fat binary, the PTX from which the device's machine code was compiled, or else the newest PTX that the device
 *   can run.
 *
 * - For an image that nvcc linked from several containers (-rdc), the PTX of all these containers, concatenated.
 *
 * - For a cubin, the text in its section .nv_debug_ptx_txt.
 *
 * Returns -ENOENT and a diagnostic if the image has only machine code, or only PTX for another architecture.
 */
int cuda_image_ptx(const void *data, size_t size, uint32_t sm, char **text, size_t *text_size, struct gpubpf_diag *diag);

#endif
