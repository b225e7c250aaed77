/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes the images that CUDA programs pass to the driver. The agent uses these functions too, so they need only
 * libc. An application may pass a pointer without a size. The image's header then states the size, and that many bytes
 * of the application's memory are readable.
 */
#ifndef GPUBPF_BACKENDS_CUDA_WIRE_FATBIN_FORMAT_H
#define GPUBPF_BACKENDS_CUDA_WIRE_FATBIN_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* magic of the structure { magic, version, container, ... }, which exists only in memory */
#define FATBIN_WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC 0xba55ed50u

enum fatbin_kind {
	FATBIN_PTX = 1,
	FATBIN_ELF = 2,
};

struct fatbin_entry {
	uint16_t kind;    /* enum fatbin_kind, or a kind that gpubpf does not use */
	uint32_t arch;    /* 90 for sm_90 */
	const void *data; /* content of the entry inside the container, perhaps compressed */
	size_t size;      /* number of bytes in data */
	uint64_t flags;
	size_t plain_size; /* number of bytes after decompression; 0 if data is not compressed */
	const void *whole; /* the entry's header and data inside the container */
	size_t whole_size;
};

#define FATBIN_LZ4 0x2000u               /* of flags */
#define FATBIN_ZSTD 0x8000u
#define FATBIN_SPECIFIC 0x100000u        /* runs only on that architecture, such as sm_90a */
#define FATBIN_FAMILY 0x200000u          /* runs only on the architecture's family, such as sm_100f */

/*
 * Calls fn for each entry until fn returns a non-zero value, which is then returned. Otherwise returns 0, or -EINVAL
 * and sets *why.
 */
int fatbin_each(const void *data, size_t size, int (*fn)(void *arg, const struct fatbin_entry *entry), void *arg,
		const char **why);

/* Returns the suffix of the entry's architecture: 'a', 'f', or 0. */
char fatbin_suffix(const struct fatbin_entry *entry);

/*
 * The newest PTX and the newest machine code of a container that a device of compute capability `sm` can run. Member
 * `data` of an entry is NULL if the container has no such entry.
 */
struct fatbin_chosen {
	uint32_t sm;
	struct fatbin_entry ptx, elf;
	/* there are entries for the chosen architecture's number both with and without a suffix */
	bool is_ptx_ambiguous, is_elf_ambiguous;
};
int fatbin_choose(const void *data, size_t size, uint32_t sm, struct fatbin_chosen *chosen, const char **why);

/* Returns the container that follows this one, or NULL. *rest is the number of bytes from there to the end. */
const void *fatbin_next(const void *data, size_t size, size_t *rest);

/*
 * Returns the address of the image to which an application's pointer leads, perhaps through a wrapper structure. Sets
 * *size to the size that the image states. Returns NULL if the format is unknown.
 */
const void *cuda_image_bounds(const void *image, size_t *size);
/*
 * If `image` points to an image that nvcc linked (-rdc), returns the image's container, followed by the containers from
 * which it was linked, malloc'd. Returns NULL for other images, or if the containers have more than 64 MiB.
 */
void *cuda_image_linked(const void *image, size_t *size);
/*
 * Copies an image; *copy is malloc'd. From containers only the entries that twins for `sm` need are copied. Returns 0,
 * -EINVAL or -ENOMEM.
 */
int cuda_image_copy(const void *image, size_t size, uint32_t sm, void **copy, size_t *copy_size);

#endif
