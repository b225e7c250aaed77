/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a listing as a relocatable object, with the twin's code, its descriptor, and symbols for the labels that the
 * linker needs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hip/amdgpu/object/elf.h"
#include "listing.h"

enum { TEXT = 1, RODATA, RELA, SYMTAB, STRTAB, NSECTIONS };

static const char names[] = "\0.text\0.rodata\0.rela.rodata\0.symtab\0.strtab";

/* Returns true for labels that the linker needs: branches to and from probes, and constants that the agent fills in
 * (stub.h). */
static bool is_wanted(const struct hip_string *label)
{
	static const char *const of[] = { "gpubpf_to_",   "gpubpf_from_", "gpubpf_entered",
					  "gpubpf_begun", "gpubpf_left",  "gpubpf_pc_" };

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (label->length >= strlen(of[i]) && !memcmp(label->s, of[i], strlen(of[i])))
			return label->at != HIP_NONE;
	return false;
}

static void write_section(FILE *f, Elf64_Shdr *head, Elf64_Shdr as, const void *bytes, size_t size)
{
	while (as.sh_addralign && ftell(f) % as.sh_addralign)
		fputc(0, f);
	*head = as;
	head->sh_offset = ftell(f);
	head->sh_size = size;
	fwrite(bytes, 1, size, f);
}

/* Appends a symbol to the symbol table, and its name to the string table. */
static void add_symbol(FILE *symbols, FILE *strings, Elf64_Sym symbol, const char *name, size_t length)
{
	symbol.st_name = ftell(strings);
	fwrite(name, 1, length, strings);
	fputc(0, strings);
	fwrite(&symbol, sizeof(symbol), 1, symbols);
}

static uint32_t add_labels(const struct hip_listing *l, FILE *symbols, FILE *strings)
{
	uint32_t n = 1;

	add_symbol(symbols, strings, (Elf64_Sym){ 0 }, "", 0);
	for (uint32_t i = 0; i < l->labels.n; i++) {
		const struct hip_string *label = &l->labels.list[i];

		if (!is_wanted(label))
			continue;
		add_symbol(symbols, strings, (Elf64_Sym){ .st_shndx = TEXT, .st_value = label->at }, label->s,
			   label->length);
		n++;
	}
	return n;
}

static void add_twin(const struct hip_listing *l, FILE *symbols, FILE *strings)
{
	Elf64_Sym code = { .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			   .st_other = STV_PROTECTED,
			   .st_shndx = TEXT,
			   .st_size = l->size };
	Elf64_Sym descriptor = { .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
				 .st_other = STV_PROTECTED,
				 .st_shndx = RODATA,
				 .st_size = sizeof(struct hip_descriptor) };
	char name[320];

	snprintf(name, sizeof(name), "%s.kd", l->draft->name);
	add_symbol(symbols, strings, code, l->draft->name, strlen(l->draft->name));
	add_symbol(symbols, strings, descriptor, name, strlen(name));
}

/* Writes all sections. `locals` is the number of local symbols; the twin's symbol follows them, so it has this index.
 * `strings` begins with the names of the sections. */
static void write_sections(const struct hip_listing *l, FILE *f, const struct gpubpf_blob *symbols,
			   const struct gpubpf_blob *strings, uint32_t locals, Elf64_Shdr heads[NSECTIONS])
{
	struct hip_descriptor d = l->draft->twin;
	Elf64_Rela entry = { .r_offset = offsetof(struct hip_descriptor, entry),
			     .r_info = ELF64_R_INFO(locals, HIP_R_REL64),
			     /* the member `entry` counts from the start of the descriptor */
			     .r_addend = offsetof(struct hip_descriptor, entry) };

	d.entry = 0;
	write_section(f, &heads[TEXT],
		      (Elf64_Shdr){ .sh_name = 1,
				    .sh_type = SHT_PROGBITS,
				    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				    .sh_addralign = 256 },
		      l->bytes, l->size);
	write_section(f, &heads[RODATA],
		      (Elf64_Shdr){ .sh_name = 7, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, .sh_addralign = 64 },
		      &d, sizeof(d));
	write_section(f, &heads[RELA],
		      (Elf64_Shdr){ .sh_name = 15,
				    .sh_type = SHT_RELA,
				    .sh_link = SYMTAB,
				    .sh_info = RODATA,
				    .sh_addralign = 8,
				    .sh_entsize = sizeof(entry) },
		      &entry, sizeof(entry));
	write_section(f, &heads[SYMTAB],
		      (Elf64_Shdr){ .sh_name = 28,
				    .sh_type = SHT_SYMTAB,
				    .sh_link = STRTAB,
				    .sh_info = locals,
				    .sh_addralign = 8,
				    .sh_entsize = sizeof(Elf64_Sym) },
		      symbols->data, symbols->size);
	write_section(f, &heads[STRTAB], (Elf64_Shdr){ .sh_name = 36, .sh_type = SHT_STRTAB }, strings->data,
		      strings->size);
}

static Elf64_Ehdr head_of(const struct hip_isa *isa, uint64_t sections)
{
	return (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT, HIP_ELFOSABI, 2 },
		.e_type = ET_REL,
		.e_machine = EM_AMDGPU,
		.e_version = EV_CURRENT,
		.e_shoff = sections,
		.e_flags = isa->mach,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = NSECTIONS,
		.e_shstrndx = STRTAB,
	};
}

static int write_symbols(const struct hip_listing *l, struct gpubpf_blob *symbols, struct gpubpf_blob *strings,
			 uint32_t *locals)
{
	char *table = NULL, *all = NULL;
	FILE *to = open_memstream(&table, &symbols->size);
	FILE *text = open_memstream(&all, &strings->size);
	int err = to && text ? 0 : -ENOMEM;

	if (!err) {
		fwrite(names, 1, sizeof(names), text);
		*locals = add_labels(l, to, text);
		add_twin(l, to, text);
	}
	if (to && fclose(to))
		err = -ENOMEM;
	if (text && fclose(text))
		err = -ENOMEM;
	symbols->data = table;
	strings->data = all;
	return err;
}

static int write_file(const struct hip_listing *l, const struct gpubpf_blob *symbols, const struct gpubpf_blob *strings,
		      uint32_t locals, struct gpubpf_blob *object)
{
	Elf64_Shdr heads[NSECTIONS] = { 0 };
	Elf64_Ehdr head = { 0 };
	char *data = NULL;
	FILE *f = open_memstream(&data, &object->size);

	if (!f)
		return -ENOMEM;
	fwrite(&head, sizeof(head), 1, f);
	write_sections(l, f, symbols, strings, locals, heads);
	while (ftell(f) % 8)
		fputc(0, f);
	head = head_of(l->draft->isa, ftell(f));
	fwrite(heads, sizeof(heads), 1, f);
	if (fclose(f)) {
		free(data);
		return -ENOMEM;
	}
	memcpy(data, &head, sizeof(head));
	object->data = data;
	return 0;
}

int hip_listing_write(const struct hip_listing *l, struct gpubpf_blob *object)
{
	struct gpubpf_blob symbols = { 0 }, strings = { 0 };
	uint32_t locals = 0;
	int err = write_symbols(l, &symbols, &strings, &locals);

	if (!err)
		err = write_file(l, &symbols, &strings, locals, object);
	free(symbols.data);
	free(strings.data);
	return err;
}
