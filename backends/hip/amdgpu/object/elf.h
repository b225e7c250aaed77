/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMD code objects and relocatable objects: ELF64, little endian, EM_AMDGPU (LLVM's AMDGPU Usage, "ELF Code Object").
 * The input is not trusted: the functions treat data outside of the file as absent.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_ELF_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpubpf_diag;

#ifndef EM_AMDGPU
#define EM_AMDGPU 224
#endif
#define HIP_ELFOSABI 64            /* ELFOSABI_AMDGPU_HSA; EI_ABIVERSION 2, 3, 4: code object v4, v5, v6 */
#define HIP_NT_METADATA 32         /* type of the note NT_AMDGPU_METADATA, whose owner is "AMDGPU" */

/* relocations, "Relocation Records" */
enum hip_reloc {
	HIP_R_ABS32_LO = 1,
	HIP_R_ABS32_HI = 2,
	HIP_R_ABS64 = 3,
	HIP_R_REL32 = 4,
	HIP_R_REL64 = 5,
	HIP_R_ABS32 = 6,
	HIP_R_REL32_LO = 10,
	HIP_R_REL32_HI = 11,
	HIP_R_RELATIVE64 = 13,
	HIP_R_REL16 = 14,
};

struct hip_elf {
	const uint8_t *data;
	size_t size;
	Elf64_Ehdr head;
};

/* a symbol table: .symtab or .dynsym */
struct hip_symbols {
	const struct hip_elf *elf;
	const uint8_t *data;
	uint32_t n, strings; /* number of symbols; index of the string table section */
};

int hip_elf_open(const void *data, size_t size, struct hip_elf *elf, struct gpubpf_diag *diag);
/* Reads the header of section i, and sets *bytes to its contents, which lie within the file. If the section has no
 * contents or exceeds the file, *bytes is NULL. Returns false if there is no section i. */
bool hip_elf_section(const struct hip_elf *elf, uint32_t i, Elf64_Shdr *head, const uint8_t **bytes);
/* Returns the string at offset `off` of a string table section, or "". */
const char *hip_elf_string(const struct hip_elf *elf, uint32_t section, uint32_t off);
/* Returns the first symbol table of a type (SHT_SYMTAB, SHT_DYNSYM), or an empty table. */
struct hip_symbols hip_elf_symbols(const struct hip_elf *elf, uint32_t type);
bool hip_elf_symbol(const struct hip_symbols *symbols, uint32_t i, Elf64_Sym *symbol, const char **name);
bool hip_elf_find(const struct hip_symbols *symbols, const char *name, Elf64_Sym *symbol);
/* Returns the bytes of the file that are loaded at a virtual address. Returns NULL if `size` bytes there are not in one
 * segment. */
const uint8_t *hip_elf_at(const struct hip_elf *elf, uint64_t address, uint64_t size);
/* Returns the code object's metadata (MessagePack, the descriptor of the ELF note), or NULL. */
const uint8_t *hip_elf_metadata(const struct hip_elf *elf, size_t *size);

#endif
