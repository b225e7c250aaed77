/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the size of an image of the HIP runtime. Formats: bundles of clang's "ClangOffloadBundler" (binary and
 * compressed), and code objects (LLVM's AMDGPU usage guide, "ELF Code Object").
 */
#include "image_format.h"

#include <elf.h>
#include <string.h>

#define BUNDLE_MAGIC "__CLANG_OFFLOAD_BUNDLE__"
#define BUNDLE_ENTRIES 4096
#define IMAGE_MAX (1ull << 40)

static void extend_size(uint64_t *size, uint64_t offset, uint64_t bytes)
{
	if (offset < IMAGE_MAX && bytes < IMAGE_MAX && offset + bytes > *size)
		*size = offset + bytes;
}

static uint64_t elf_size(const char *image)
{
	Elf64_Ehdr h;
	uint64_t size = sizeof(h);

	memcpy(&h, image, sizeof(h));
	extend_size(&size, h.e_shoff, (uint64_t)h.e_shnum * sizeof(Elf64_Shdr));
	extend_size(&size, h.e_phoff, (uint64_t)h.e_phnum * sizeof(Elf64_Phdr));
	for (int i = 0; i < h.e_shnum && h.e_shentsize == sizeof(Elf64_Shdr); i++) {
		Elf64_Shdr s;

		memcpy(&s, image + h.e_shoff + i * sizeof(s), sizeof(s));
		if (s.sh_type != SHT_NOBITS)
			extend_size(&size, s.sh_offset, s.sh_size);
	}
	for (int i = 0; i < h.e_phnum && h.e_phentsize == sizeof(Elf64_Phdr); i++) {
		Elf64_Phdr p;

		memcpy(&p, image + h.e_phoff + i * sizeof(p), sizeof(p));
		extend_size(&size, p.p_offset, p.p_filesz);
	}
	return size;
}

/* Layout: magic, number of entries, then the entries: offset, size, length of the name, name. */
static uint64_t bundle_size(const char *image)
{
	const char *at = image + strlen(BUNDLE_MAGIC);
	uint64_t n, entry[3], size = 0;

	memcpy(&n, at, sizeof(n));
	at += sizeof(n);
	if (n > BUNDLE_ENTRIES)
		return 0;
	for (uint64_t i = 0; i < n; i++) {
		memcpy(entry, at, sizeof(entry));
		if (entry[2] > 4096)
			return 0;
		at += sizeof(entry) + entry[2];
		extend_size(&size, entry[0], entry[1]);
		extend_size(&size, 0, at - image);
	}
	return size;
}

/* Layout: "CCOB", version, method, then the total size, which has 32 bits in version 2 and 64 bits from version 3 on.
 * Version 1 does not state the size. */
static uint64_t compressed_size(const char *image)
{
	uint16_t version;
	uint64_t size = 0;

	memcpy(&version, image + 4, sizeof(version));
	if (version >= 2)
		memcpy(&size, image + 8, version == 2 ? 4 : 8);
	return size < IMAGE_MAX ? size : 0;
}

uint64_t hip_image_size(const void *image, enum gpubpf_image_kind *kind)
{
	*kind = GPUBPF_IMAGE_OFFLOAD_BUNDLE;
	if (!memcmp(image, "CCOB", 4))
		return compressed_size(image);
	if (!memcmp(image, ELFMAG, SELFMAG)) {
		*kind = GPUBPF_IMAGE_AMDGPU;
		return elf_size(image);
	}
	return memcmp(image, BUNDLE_MAGIC, strlen(BUNDLE_MAGIC)) ? 0 : bundle_size(image);
}
