/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUDA programs hand to the driver, opened: fatbin containers (entries plain, LZ4 or zstd), cubins,
 * PTX text. Nothing is trusted: sizes are checked against the image, and decompression is bounded.
 */
#ifndef GPUBPF_BACKENDS_CUDA_IMAGE_FATBIN_H
#define GPUBPF_BACKENDS_CUDA_IMAGE_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/cuda/wire/fatbin_format.h"

struct gpubpf_diag;

#define CUDA_PTX_MAX (512u << 20)        /* bytes of one PTX text, decompressed */

/* Call fn for each entry; its non-zero return ends the walk and is returned. 0, or -EINVAL. */
int fatbin_walk(const void *data, size_t size, int (*fn)(void *arg, const struct fatbin_entry *entry), void *arg,
		struct gpubpf_diag *diag);
/* The entry's content, malloc'd (with a NUL behind it, not counted). */
int fatbin_extract(const struct fatbin_entry *entry, char **data, size_t *size, struct gpubpf_diag *diag);

/*
 * The PTX that a twin for compute capability `sm` (90 for 9.0) is made of: PTX text; of a fatbin the entry that the
 * machine code for the device was made of, or without any the newest that it can run; of a linked program, that of
 * each container behind it; of a cubin its .nv_debug_ptx_txt section. *text is malloc'd. -ENOENT with a reason for
 * machine code alone, or of other PTX.
 */
int cuda_image_ptx(const void *data, size_t size, uint32_t sm, char **text, size_t *text_size,
		   struct gpubpf_diag *diag);

#endif
