/* SPDX-License-Identifier: Apache-2.0 */
#include "elf.h"

#include <string.h>

#include "core/model/diag.h"

static bool within(const struct hip_elf *elf, uint64_t off, uint64_t size)
{
	return off <= elf->size && size <= elf->size - off;
}

int hip_elf_open(const void *data, size_t size, struct hip_elf *elf, struct gpubpf_diag *diag)
{
	*elf = (struct hip_elf){ .data = data, .size = size };
	if (size >= sizeof(elf->head))
		memcpy(&elf->head, data, sizeof(elf->head));
	if (memcmp(elf->head.e_ident, ELFMAG, SELFMAG) || elf->head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf->head.e_ident[EI_DATA] != ELFDATA2LSB || elf->head.e_machine != EM_AMDGPU)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "the image is not an AMD code object (64-bit little-endian ELF for EM_AMDGPU)");
	if (elf->head.e_ident[EI_OSABI] != HIP_ELFOSABI)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the code object is not for HSA (OS ABI %u)",
				       elf->head.e_ident[EI_OSABI]);
	return 0;
}

bool hip_elf_section(const struct hip_elf *elf, uint32_t i, Elf64_Shdr *head, const uint8_t **bytes)
{
	uint64_t off = elf->head.e_shoff + (uint64_t)i * sizeof(*head);

	if (i >= elf->head.e_shnum || elf->head.e_shentsize != sizeof(*head) || elf->head.e_shoff > elf->size ||
	    !within(elf, off, sizeof(*head)))
		return false;
	memcpy(head, elf->data + off, sizeof(*head));
	if (head->sh_type == SHT_NOBITS || !within(elf, head->sh_offset, head->sh_size))
		*bytes = NULL;
	else
		*bytes = elf->data + head->sh_offset;
	return true;
}

const char *hip_elf_string(const struct hip_elf *elf, uint32_t section, uint32_t off)
{
	const uint8_t *bytes;
	Elf64_Shdr head;

	if (!hip_elf_section(elf, section, &head, &bytes) || !bytes || off >= head.sh_size ||
	    !memchr(bytes + off, 0, head.sh_size - off))
		return "";
	return (const char *)bytes + off;
}

struct hip_symbols hip_elf_symbols(const struct hip_elf *elf, uint32_t type)
{
	struct hip_symbols symbols = { .elf = elf };
	const uint8_t *bytes;
	Elf64_Shdr head;

	for (uint32_t i = 0; hip_elf_section(elf, i, &head, &bytes); i++)
		if (head.sh_type == type && bytes && head.sh_size / sizeof(Elf64_Sym) < UINT32_MAX) {
			symbols.data = bytes;
			symbols.n = head.sh_size / sizeof(Elf64_Sym);
			symbols.strings = head.sh_link;
			break;
		}
	return symbols;
}

bool hip_elf_symbol(const struct hip_symbols *symbols, uint32_t i, Elf64_Sym *symbol, const char **name)
{
	if (i >= symbols->n)
		return false;
	memcpy(symbol, symbols->data + (size_t)i * sizeof(*symbol), sizeof(*symbol));
	*name = hip_elf_string(symbols->elf, symbols->strings, symbol->st_name);
	return true;
}

bool hip_elf_find(const struct hip_symbols *symbols, const char *name, Elf64_Sym *symbol)
{
	const char *theirs;

	for (uint32_t i = 0; hip_elf_symbol(symbols, i, symbol, &theirs); i++)
		if (!strcmp(theirs, name) && symbol->st_shndx != SHN_UNDEF)
			return true;
	return false;
}

static bool segment(const struct hip_elf *elf, uint32_t i, Elf64_Phdr *head)
{
	uint64_t off = elf->head.e_phoff + (uint64_t)i * sizeof(*head);

	if (i >= elf->head.e_phnum || elf->head.e_phentsize != sizeof(*head) || elf->head.e_phoff > elf->size ||
	    !within(elf, off, sizeof(*head)))
		return false;
	memcpy(head, elf->data + off, sizeof(*head));
	return true;
}

const uint8_t *hip_elf_at(const struct hip_elf *elf, uint64_t address, uint64_t size)
{
	Elf64_Phdr head;

	for (uint32_t i = 0; segment(elf, i, &head); i++) {
		uint64_t off = address - head.p_vaddr;

		if (head.p_type == PT_LOAD && address >= head.p_vaddr && off <= head.p_filesz &&
		    size <= head.p_filesz - off && within(elf, head.p_offset, head.p_filesz))
			return elf->data + head.p_offset + off;
	}
	return NULL;
}

/* Finds the metadata in the contents of a note section (ELF, "Note Section"). LLVM aligns notes to 4 bytes. */
static const uint8_t *find_metadata(const uint8_t *notes, size_t left, size_t *size)
{
	Elf64_Nhdr head;

	while (left >= sizeof(head)) {
		uint64_t name, desc;

		memcpy(&head, notes, sizeof(head));
		name = (head.n_namesz + 3ull) & ~3ull;
		desc = (head.n_descsz + 3ull) & ~3ull;
		if (name > left - sizeof(head) || head.n_descsz > left - sizeof(head) - name)
			return NULL;
		if (head.n_type == HIP_NT_METADATA && head.n_namesz == 7 && !memcmp(notes + sizeof(head), "AMDGPU", 7)) {
			*size = head.n_descsz;
			return notes + sizeof(head) + name;
		}
		if (desc > left - sizeof(head) - name)
			return NULL;
		notes += sizeof(head) + name + desc;
		left -= sizeof(head) + name + desc;
	}
	return NULL;
}

const uint8_t *hip_elf_metadata(const struct hip_elf *elf, size_t *size)
{
	const uint8_t *found = NULL, *bytes;
	Elf64_Phdr load;
	Elf64_Shdr head;

	for (uint32_t i = 0; !found && segment(elf, i, &load); i++)
		if (load.p_type == PT_NOTE && within(elf, load.p_offset, load.p_filesz))
			found = find_metadata(elf->data + load.p_offset, load.p_filesz, size);
	for (uint32_t i = 0; !found && hip_elf_section(elf, i, &head, &bytes); i++)
		if (head.sh_type == SHT_NOTE && bytes)
			found = find_metadata(bytes, head.sh_size, size);
	return found;
}
