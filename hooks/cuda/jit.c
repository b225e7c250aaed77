/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine code that NVIDIA's linkers or compilers generated in the application. The agent stores the PTX of that
 * machine code and finds the PTX by the machine code's bytes. So kernels can have twins when the application loads the
 * machine code. The agent also stores the PTX in the user's cache folder, for applications that save machine code in
 * files and load it in a later run.
 */
#include "cuda.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/wire/fatbin_format.h"
#include "hooks/client/cache.h"

#define MAX_STORED_SIZE (64u << 20) /* limit of the bytes of all stored PTX and images */
#define MAX_CACHED_IMAGE_SIZE (4u << 20) /* bytes; larger images are not cached: each look-up hashes the image */
#define FOLDER "ptx"
#define CODE_PREFIX ".text."  /* prefix of the names of ELF sections that contain a function's code */

/* an image (machine code) of `size` bytes and then its PTX text, both in bytes[] */
struct jit {
	struct jit *next;
	size_t size, text_size; /* text_size: bytes of the PTX, including the NUL */
	char bytes[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the variables below */
static struct jit *images;
static size_t stored_size;

static bool is_elf(const void *image, size_t size)
{
	return size > sizeof(Elf64_Ehdr) && !memcmp(image, ELFMAG, SELFMAG);
}

static bool is_in_range(size_t size, uint64_t offset, uint64_t length)
{
	return offset <= size && length <= size - offset;
}

/*
 * Returns true if a pattern of the plan matches the function of an ELF section. The section's name is at names + at,
 * and must end within the `size` bytes of `names`.
 */
static bool is_wanted_section(const char *names, size_t size, uint32_t at)
{
	return at < size && memchr(names + at, 0, size - at) && !strncmp(names + at, CODE_PREFIX, strlen(CODE_PREFIX)) &&
	       gpubpf_plan_matches_now(names + at + strlen(CODE_PREFIX));
}

bool cuda_jit_is_matched(const void *image, size_t size)
{
	Elf64_Shdr section, names;
	const char *bytes = image;
	Elf64_Ehdr ehdr;
	bool wanted = false;

	if (!cuda_active() || !image || !is_elf(image, size))
		return cuda_active() && image;
	memcpy(&ehdr, bytes, sizeof(ehdr));
	if (ehdr.e_shentsize != sizeof(section) || ehdr.e_shstrndx >= ehdr.e_shnum ||
	    !is_in_range(size, ehdr.e_shoff, ehdr.e_shnum * sizeof(section)))
		return false;
	memcpy(&names, bytes + ehdr.e_shoff + ehdr.e_shstrndx * sizeof(names), sizeof(names));
	if (!is_in_range(size, names.sh_offset, names.sh_size))
		return false;
	for (size_t i = 0; i < ehdr.e_shnum && !wanted; i++) {
		memcpy(&section, bytes + ehdr.e_shoff + i * sizeof(section), sizeof(section));
		wanted = is_wanted_section(bytes + names.sh_offset, names.sh_size, section.sh_name);
	}
	return wanted;
}

/*
 * Compute the image's cache key. The image's size comes from its ELF header, because load calls pass no size. Returns
 * false if the image is not cached.
 */
static bool file_key(const void *image, size_t size, char key[65])
{
	size_t n;

	if (!is_elf(image, size) || !cuda_image_bounds(image, &n) || n > size || n > MAX_CACHED_IMAGE_SIZE)
		return false;
	gpubpf_cache_key(image, n, key);
	return true;
}

void cuda_jit_add(const void *image, size_t size, const char *text)
{
	size_t text_size = strlen(text) + 1;
	struct jit *m = NULL;
	char key[65];

	if (text_size == 1 || !image)
		return;
	if (file_key(image, size, key))
		gpubpf_cache_put(FOLDER, key, text, text_size - 1);
	pthread_mutex_lock(&lock);
	if (size < MAX_STORED_SIZE && text_size < MAX_STORED_SIZE && stored_size + size + text_size < MAX_STORED_SIZE)
		m = malloc(sizeof(*m) + size + text_size);
	if (m) {
		m->size = size;
		m->text_size = text_size;
		memcpy(m->bytes, image, size);
		memcpy(m->bytes + size, text, text_size);
		m->next = images;
		images = m;
		stored_size += size + text_size;
	}
	pthread_mutex_unlock(&lock);
}

static char *read_cached_ptx(const void *image, size_t size, size_t *text_size)
{
	char key[65], *text;
	void *data;

	if (!cuda_jit_is_matched(image, size) || !file_key(image, size, key) ||
	    gpubpf_cache_get(FOLDER, key, MAX_STORED_SIZE, &data, text_size) < 0)
		return NULL;
	text = realloc(data, *text_size + 1);
	if (!text) {
		free(data);
		return NULL;
	}
	text[(*text_size)++] = 0;
	return text;
}

char *cuda_jit_ptx(const void *image, size_t size, size_t *text_size)
{
	char *copy = NULL;

	if (!image || !size)
		return NULL;
	pthread_mutex_lock(&lock);
	for (struct jit *m = images; m && !copy; m = m->next)
		if (size <= m->size && !memcmp(m->bytes, image, size) && (copy = malloc(m->text_size))) {
			memcpy(copy, m->bytes + m->size, m->text_size);
			*text_size = m->text_size;
		}
	pthread_mutex_unlock(&lock);
	return copy ? copy : read_cached_ptx(image, size, text_size);
}
