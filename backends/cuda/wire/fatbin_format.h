/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of images as CUDA programs pass them to the driver. The agent uses it too, so it needs libc only. An
 * application may pass an image by pointer only; its header then states the size, and that much of the application's
 * memory is readable.
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
	uint16_t kind;    /* enum fatbin_kind, or another value */
	uint32_t arch;    /* 90 for sm_90 */
	const void *data; /* in the container, perhaps compressed */
	size_t size;      /* bytes in the container */
	uint64_t flags;
	size_t plain_size; /* decompressed bytes; 0 if not compressed */
	const void *whole; /* the entry with its header, in the container */
	size_t whole_size;
};

#define FATBIN_LZ4 0x2000u               /* of flags */
#define FATBIN_ZSTD 0x8000u
#define FATBIN_SPECIFIC 0x100000u        /* sm_90a: for that architecture only */
#define FATBIN_FAMILY 0x200000u          /* sm_100f: for its family only */

/* Calls fn for each entry. A non-zero return of fn ends the walk and is returned. Returns 0, or -EINVAL with a
 * reason. */
int fatbin_each(const void *data, size_t size, int (*fn)(void *arg, const struct fatbin_entry *entry), void *arg,
		const char **why);

/* Returns the suffix of the entry's architecture: 'a', 'f', or 0. */
char fatbin_suffix(const struct fatbin_entry *entry);

/* The newest entries that a device of compute capability `sm` can run; data NULL: none. */
struct fatbin_chosen {
	uint32_t sm;
	struct fatbin_entry ptx, elf;
	bool is_ptx_ambiguous, is_elf_ambiguous; /* several entries have the chosen architecture's number, with and
						  * without a suffix */
};
int fatbin_choose(const void *data, size_t size, uint32_t sm, struct fatbin_chosen *chosen, const char **why);

/* Returns the container after this one and the bytes from there to the end, or NULL. */
const void *fatbin_next(const void *data, size_t size, size_t *rest);

/* Returns the address where an image at the application's pointer begins (after a wrapper structure), and sets *size to
 * the size that the image states. NULL: the format is unknown. */
const void *cuda_image_bounds(const void *image, size_t *size);
/* If `image` points to a program that nvcc linked (-rdc), returns its container followed by the containers from which
 * it was linked, malloc'd. NULL: it is no such program, or the containers have more than 64 MiB. */
void *cuda_image_linked(const void *image, size_t *size);
/* Copies the image, malloc'd; from containers it copies only the entries that twins for `sm` need. Returns 0, -EINVAL
 * or -ENOMEM. */
int cuda_image_copy(const void *image, size_t size, uint32_t sm, void **copy, size_t *copy_size);

#endif
