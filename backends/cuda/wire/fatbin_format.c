/* SPDX-License-Identifier: Apache-2.0 */
#include "fatbin_format.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MIN_CONTAINER 16
#define MIN_ENTRY_HEADER 64
/*
 * maximum size in bytes that cuda_image_linked() copies: a linked image's container and the containers from which it
 * was linked
 */
#define LINKED_MAX (64u << 20)

static size_t elf_size(const unsigned char *image)
{
	Elf64_Ehdr ehdr;
	size_t end;

	memcpy(&ehdr, image, sizeof(ehdr));
	if (ehdr.e_ident[EI_CLASS] != ELFCLASS64 || ehdr.e_shentsize != sizeof(Elf64_Shdr))
		return 0;
	end = ehdr.e_shoff + (size_t)ehdr.e_shnum * ehdr.e_shentsize;
	for (size_t i = 0; i < ehdr.e_shnum; i++) {
		Elf64_Shdr section;

		memcpy(&section, image + ehdr.e_shoff + i * sizeof(section), sizeof(section));
		if (section.sh_type != SHT_NOBITS && section.sh_offset + section.sh_size > end)
			end = section.sh_offset + section.sh_size;
	}
	end = ehdr.e_phoff + (size_t)ehdr.e_phnum * ehdr.e_phentsize > end ?
		      ehdr.e_phoff + (size_t)ehdr.e_phnum * ehdr.e_phentsize :
		      end;
	return end;
}

/* Returns true if the first characters are printable. PTX text begins with comments or .version. */
static int looks_like_text(const unsigned char *image)
{
	for (int i = 0; i < 4; i++)
		if ((image[i] < ' ' || image[i] > '~') && (image[i] < '\t' || image[i] > '\r'))
			return 0;
	return 1;
}

/* structure in memory that applications built by nvcc pass to the driver (fatbinary_section.h of the toolkit) */
struct wrapper {
	uint32_t magic, version;
	const void *data;
	const void *const *parts; /* version 2: the containers from which `data` was linked; NULL ends the array */
};

/* Returns the size in bytes that the container's header states. */
static size_t container_size(const void *image)
{
	uint16_t header;
	uint64_t body;

	memcpy(&header, (const char *)image + 6, sizeof(header));
	memcpy(&body, (const char *)image + 8, sizeof(body));
	return header + body;
}

const void *cuda_image_bounds(const void *image, size_t *size)
{
	struct wrapper wrapper;
	uint32_t magic;

	if (!image)
		return NULL;
	memcpy(&magic, image, sizeof(magic));
	if (magic == FATBIN_WRAPPER_MAGIC) {
		memcpy(&wrapper, image, sizeof(wrapper));
		return wrapper.data == image ? NULL : cuda_image_bounds(wrapper.data, size);
	}
	if (magic == FATBIN_MAGIC) {
		*size = container_size(image);
		return image;
	}
	if (!memcmp(image, ELFMAG, SELFMAG)) {
		*size = elf_size(image);
		return *size ? image : NULL;
	}
	if (!looks_like_text(image))
		return NULL;
	*size = strlen(image) + 1;
	return image;
}

void *cuda_image_linked(const void *image, size_t *size)
{
	struct wrapper w = { 0 };
	uint32_t magic = 0;
	size_t at = 0;
	char *all;

	if (image)
		memcpy(&magic, image, sizeof(magic));
	if (magic == FATBIN_WRAPPER_MAGIC)
		memcpy(&w, image, sizeof(w));
	if (w.version != 2 || !w.data || !w.parts || !w.parts[0])
		return NULL;
	*size = container_size(w.data);
	for (size_t i = 0; w.parts[i] && *size < LINKED_MAX; i++) {
		memcpy(&magic, w.parts[i], sizeof(magic));
		*size += magic == FATBIN_MAGIC ? container_size(w.parts[i]) : LINKED_MAX;
	}
	all = *size < LINKED_MAX ? malloc(*size) : NULL;
	for (size_t i = 0; all && (!i || w.parts[i - 1]); i++) {
		const void *from = i ? w.parts[i - 1] : w.data;

		memcpy(all + at, from, container_size(from));
		at += container_size(from);
	}
	return all;
}

static uint64_t read_le(const uint8_t *at, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, at, n); /* containers are little-endian, and so are all hosts that the driver supports */
	return v;
}

static int set_reason(const char **why, const char *what)
{
	*why = what;
	return -EINVAL;
}

/*
 * Format of a container: u32 magic, u16 version, u16 header size, u64 bytes that follow. An entry begins with u16 kind,
 * u16 version, u32 header size, u64 data size and u32 compressed size. It also has u32 arch at offset 28, u64 flags at
 * 40, and u64 decompressed size at 56. These offsets are measured on fat binaries of nvcc 13.0.
 */
int fatbin_each(const void *data, size_t size, int (*fn)(void *arg, const struct fatbin_entry *entry), void *arg,
		const char **why)
{
	const uint8_t *at = data, *end;
	uint64_t header, body;
	int err;

	if (size < MIN_CONTAINER || read_le(at, 4) != FATBIN_MAGIC)
		return set_reason(why, "not a fatbin container");
	header = read_le(at + 6, 2);
	body = read_le(at + 8, 8);
	if (header < MIN_CONTAINER || header > size || body > size - header)
		return set_reason(why, "the container is longer than the image");
	for (at += header, end = at + body; at < end;) {
		struct fatbin_entry entry = { .whole = at };
		uint64_t entry_header, packed, length;

		if ((size_t)(end - at) < MIN_ENTRY_HEADER)
			return set_reason(why, "an entry is cut off");
		entry_header = read_le(at + 4, 4);
		length = read_le(at + 8, 8);
		packed = read_le(at + 16, 4);
		if (entry_header < MIN_ENTRY_HEADER || entry_header > (size_t)(end - at) ||
		    length > (size_t)(end - at) - entry_header || packed > length)
			return set_reason(why, "an entry is longer than its container");
		entry.kind = read_le(at, 2);
		entry.arch = read_le(at + 28, 4);
		entry.flags = read_le(at + 40, 8);
		entry.data = at + entry_header;
		entry.size = packed ? packed : length;
		entry.plain_size = entry.flags & (FATBIN_LZ4 | FATBIN_ZSTD) ? read_le(at + 56, 8) : 0;
		entry.whole_size = entry_header + length;
		err = fn(arg, &entry);
		if (err)
			return err;
		at += entry.whole_size;
	}
	return 0;
}

char fatbin_suffix(const struct fatbin_entry *entry)
{
	return entry->flags & FATBIN_SPECIFIC ? 'a' : entry->flags & FATBIN_FAMILY ? 'f' : 0;
}

/*
 * Returns true if a device of compute capability `sm` can run the entry. An entry never runs on a device older than its
 * architecture. Machine code, and PTX with suffix 'f', need a device of the same major number. An entry with suffix 'a'
 * needs a device of exactly its architecture.
 */
static bool runs_on(const struct fatbin_entry *entry, uint32_t sm)
{
	bool family = entry->kind == FATBIN_ELF || fatbin_suffix(entry) == 'f';

	if (entry->arch > sm || (fatbin_suffix(entry) == 'a' && entry->arch != sm))
		return false;
	return !family || entry->arch / 10 == sm / 10;
}

static void update_newest(struct fatbin_entry *best, bool *unclear, const struct fatbin_entry *entry)
{
	if (best->data && entry->arch == best->arch)
		*unclear |= fatbin_suffix(entry) != fatbin_suffix(best);
	if (best->data && entry->arch <= best->arch)
		return;
	*best = *entry;
	*unclear = false;
}

static int choose_entry(void *arg, const struct fatbin_entry *entry)
{
	struct fatbin_chosen *chosen = arg;

	if (entry->kind == FATBIN_PTX && runs_on(entry, chosen->sm))
		update_newest(&chosen->ptx, &chosen->is_ptx_ambiguous, entry);
	if (entry->kind == FATBIN_ELF && runs_on(entry, chosen->sm))
		update_newest(&chosen->elf, &chosen->is_elf_ambiguous, entry);
	return 0;
}

int fatbin_choose(const void *data, size_t size, uint32_t sm, struct fatbin_chosen *chosen, const char **why)
{
	*chosen = (struct fatbin_chosen){ .sm = sm };
	return fatbin_each(data, size, choose_entry, chosen, why);
}

const void *fatbin_next(const void *data, size_t size, size_t *rest)
{
	size_t n = size >= MIN_CONTAINER ? container_size(data) : 0;

	if (n < MIN_CONTAINER || n > size || size - n < MIN_CONTAINER ||
	    read_le((const uint8_t *)data + n, 4) != FATBIN_MAGIC)
		return NULL;
	*rest = size - n;
	return (const uint8_t *)data + n;
}

struct copied {
	struct fatbin_chosen chosen;
	uint8_t *bytes;
	size_t size;
	uint64_t body;
};

static int append(struct copied *to, const void *bytes, size_t n)
{
	uint8_t *grown = realloc(to->bytes, to->size + n);

	if (!grown)
		return -ENOMEM;
	memcpy(grown + to->size, bytes, n);
	to->bytes = grown;
	to->size += n;
	return 0;
}

/*
 * Copies the entry if a twin may need it. If the container has machine code for the device, a twin may need the newest
 * such code and all PTX that may be its source. Otherwise a twin needs the newest PTX.
 */
static int copy_entry(void *arg, const struct fatbin_entry *entry)
{
	struct copied *to = arg;
	const struct fatbin_chosen *chosen = &to->chosen;

	if (!runs_on(entry, chosen->sm) || (entry->kind == FATBIN_ELF && entry->arch != chosen->elf.arch) ||
	    (entry->kind == FATBIN_PTX && !chosen->elf.data && entry->arch != chosen->ptx.arch) ||
	    (entry->kind != FATBIN_ELF && entry->kind != FATBIN_PTX))
		return 0;
	to->body += entry->whole_size;
	return append(to, entry->whole, entry->whole_size);
}

/* Copies a container, but only the entries that copy_entry() accepts, perhaps none. */
static int copy_container(const uint8_t *image, size_t size, uint32_t sm, struct copied *to)
{
	size_t begin = to->size;
	const char *why;
	int err;

	if (fatbin_choose(image, size, sm, &to->chosen, &why) < 0)
		return -EINVAL;
	to->body = 0;
	err = append(to, image, read_le(image + 6, 2));
	if (!err)
		err = fatbin_each(image, size, copy_entry, to, &why);
	if (!err)
		memcpy(to->bytes + begin + 8, &to->body, sizeof(to->body));
	return err;
}

static int copy_containers(const void *image, size_t size, uint32_t sm, void **copy, size_t *copy_size)
{
	struct copied to = { 0 };

	for (; image; image = fatbin_next(image, size, &size)) {
		int err = copy_container(image, size, sm, &to);

		if (err < 0) {
			free(to.bytes);
			return err;
		}
	}
	*copy = to.bytes;
	*copy_size = to.size;
	return 0;
}

int cuda_image_copy(const void *image, size_t size, uint32_t sm, void **copy, size_t *copy_size)
{
	if (size >= MIN_CONTAINER && read_le(image, 4) == FATBIN_MAGIC)
		return copy_containers(image, size, sm, copy, copy_size);
	*copy = malloc(size + !size);
	if (!*copy)
		return -ENOMEM;
	memcpy(*copy, image, size);
	*copy_size = size;
	return 0;
}
