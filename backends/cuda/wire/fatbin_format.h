/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of images as CUDA programs hand them to the driver. For the agent too: libc only. An image that the
 * driver is given by pointer alone is the application's own memory, valid as far as it says.
 */
#ifndef GPUBPF_BACKENDS_CUDA_WIRE_FATBIN_FORMAT_H
#define GPUBPF_BACKENDS_CUDA_WIRE_FATBIN_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FATBIN_WRAPPER_MAGIC 0x466243b1u /* { magic, version, container, ... }: in memory only */
#define FATBIN_MAGIC 0xba55ed50u

enum fatbin_kind {
	FATBIN_PTX = 1,
	FATBIN_ELF = 2,
};

struct fatbin_entry {
	uint16_t kind;           /* enum fatbin_kind, or another */
	uint32_t arch;           /* 90 for sm_90 */
	const void *data;        /* in the container, perhaps compressed */
	size_t size;             /* bytes there */
	uint64_t flags;
	size_t plain_size;       /* decompressed; 0 if not compressed */
	const void *whole;       /* with its header, as it stands in the container */
	size_t whole_size;
};

#define FATBIN_LZ4 0x2000u               /* of flags */
#define FATBIN_ZSTD 0x8000u
#define FATBIN_SPECIFIC 0x100000u        /* sm_90a: for that architecture alone */
#define FATBIN_FAMILY 0x200000u          /* sm_100f: for its family alone */

/* Call fn for each entry; its non-zero return ends the walk and is returned. 0, or -EINVAL with a reason. */
int fatbin_each(const void *data, size_t size, int (*fn)(void *arg, const struct fatbin_entry *entry), void *arg,
		const char **why);

/* The suffix of its architecture: 'a', 'f', or 0. */
char fatbin_suffix(const struct fatbin_entry *entry);

/* The newest entries that a device of compute capability `sm` can run; data NULL: none. */
struct fatbin_chosen {
	uint32_t sm;
	struct fatbin_entry ptx, elf;
	bool ptx_unclear, elf_unclear; /* there are several, with and without a suffix */
};
int fatbin_choose(const void *data, size_t size, uint32_t sm, struct fatbin_chosen *chosen, const char **why);

/* The container behind this one, and how much there is from it on; NULL: none. */
const void *fatbin_next(const void *data, size_t size, size_t *rest);

/* Where an image at the application's pointer begins (behind a wrapper) and how long it is, by its own account.
 * NULL: nothing that we know. */
const void *cuda_image_bounds(const void *image, size_t *size);
/* Where the pointer is to a program of nvcc's that was linked (-rdc): its container and, behind it, those that it
 * was linked from, malloc'd. NULL: it is none, or they are larger than 64 MiB. */
void *cuda_image_linked(const void *image, size_t *size);
/* A copy of the image, malloc'd; of containers only what twins for `sm` are made of. 0, -EINVAL, -ENOMEM. */
int cuda_image_copy(const void *image, size_t size, uint32_t sm, void **copy, size_t *copy_size);

#endif
