/* SPDX-License-Identifier: Apache-2.0 */
/* Reads all data of a code object that the worker reads before it makes a twin. Rewritten data is read back. */
#ifndef GPUBPF_TESTS_FUZZ_HIP_H
#define GPUBPF_TESTS_FUZZ_HIP_H

#include <stdlib.h>
#include <string.h>

#include "backends/hip/amdgpu/object/meta.h"
#include "core/model/diag.h"

static volatile uint8_t hip_touched;

static void hip_touch(const void *bytes, uint64_t size)
{
	if (bytes && size)
		hip_touched ^= *(const uint8_t *)bytes ^ ((const uint8_t *)bytes)[size - 1];
}

static void hip_walk_symbols(const struct hip_elf *elf, uint32_t type)
{
	struct hip_symbols symbols = hip_elf_symbols(elf, type);
	const char *name;
	Elf64_Sym symbol;

	for (uint32_t i = 0; i < 200 && hip_elf_symbol(&symbols, i, &symbol, &name); i++) {
		hip_touch(name, strlen(name) + 1);
		hip_touch(hip_elf_at(elf, symbol.st_value, symbol.st_size), symbol.st_size);
	}
	hip_elf_find(&symbols, "k.kd", &symbol);
}

static void hip_walk_kernel(const struct hip_elf *elf, struct hip_meta *meta)
{
	struct hip_meta_twin say = { "gpubpf_twin_k", 12, 4, 20, 64, 2, 256 };
	uint32_t n = hip_meta_params(meta, NULL, NULL, 0), *offsets = calloc(n + 1, sizeof(*offsets));
	struct gpubpf_param *params = calloc(n + 1, sizeof(*params));
	struct gpubpf_reader again;
	struct gpubpf_blob blob;

	if (params && offsets && hip_meta_params(meta, params, offsets, n) != n)
		abort();
	for (uint32_t i = 0; params && i < n; i++)
		if (params[i].size > 65536 || params[i].align > 16)
			abort();
	free(params);
	free(offsets);
	hip_touch(meta->name, meta->name_len);
	hip_touch(meta->symbol, meta->symbol_len);
	if (hip_meta_write(elf, meta, &say, &blob) < 0)
		return;
	gpubpf_reader_init(&again, blob.data, blob.size);
	hip_msgpack_skip(&again);
	if (!gpubpf_reader_done(&again))
		abort();
	free(blob.data);
}

static void hip_walk(const struct hip_elf *elf)
{
	const uint8_t *bytes;
	struct hip_meta meta;
	Elf64_Shdr head;
	size_t size;

	for (uint32_t i = 0; hip_elf_section(elf, i, &head, &bytes); i++) {
		hip_touch(bytes, head.sh_size);
		hip_touch(hip_elf_string(elf, elf->head.e_shstrndx, head.sh_name), 1);
	}
	hip_walk_symbols(elf, SHT_SYMTAB);
	hip_walk_symbols(elf, SHT_DYNSYM);
	bytes = hip_elf_metadata(elf, &size);
	if (bytes)
		hip_touch(bytes, size);
	for (uint32_t i = 0; i < 20 && hip_meta_kernel(elf, i, &meta); i++)
		hip_walk_kernel(elf, &meta);
	hip_meta_find(elf, "k", &meta);
}

#endif
