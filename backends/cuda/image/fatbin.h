/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the images that CUDA programs pass to the driver: fatbin containers (entries uncompressed, LZ4 or zstd),
 * cubins, PTX text. Input is not trusted: sizes are checked against the image, and decompression is bounded.
 */
#ifndef GPUBPF_BACKENDS_CUDA_IMAGE_FATBIN_H
#define GPUBPF_BACKENDS_CUDA_IMAGE_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/cuda/wire/fatbin_format.h"

struct gpubpf_diag;

#define CUDA_PTX_MAX (512u << 20)        /* bytes of one PTX text, decompressed */

/* Calls fn for each entry. A non-zero return of fn ends the walk and is returned. Returns 0 or -EINVAL. */
int fatbin_walk(const void *data, size_t size, int (*fn)(void *arg, const struct fatbin_entry *entry), void *arg,
		struct gpubpf_diag *diag);
/* Extracts the entry's content, malloc'd, with an uncounted NUL at its end. */
int fatbin_extract(const struct fatbin_entry *entry, char **data, size_t *size, struct gpubpf_diag *diag);

/*
 * Returns the PTX from which a twin for compute capability `sm` (90 for 9.0) is made; *text is malloc'd.
 * PTX text: the text. Fatbin: the PTX from which the device's machine code was compiled, or else the newest PTX that
 * the device can run. Linked program: the PTX of each container. Cubin: its .nv_debug_ptx_txt section.
 * Returns -ENOENT with a reason if there is machine code only, or only PTX for another architecture.
 */
int cuda_image_ptx(const void *data, size_t size, uint32_t sm, char **text, size_t *text_size, struct gpubpf_diag *diag);

#endif
