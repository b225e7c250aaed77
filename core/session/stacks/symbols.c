/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_SEGMENTS 256
#define MAX_SECTIONS 4096
#define MAX_TABLE_BYTES (512ull << 20) /* maximum bytes of a symbol or string table */

struct symbol {
	uint64_t address, size;
	uint32_t name; /* byte offset of the symbol's name in `names` */
};

struct gpubpf_symbols {
	Elf64_Phdr *segment;
	uint32_t nsegments;
	struct symbol *list; /* [n], sorted by address */
	uint64_t n;
	char *names; /* [size] the string table, followed by a NUL */
	uint64_t size;
};

/*
 * Read `size` bytes at offset `at` of the file, and append a NUL. Returns NULL if the file is shorter, the size exceeds
 * MAX_TABLE_BYTES, or memory is short.
 */
static void *read_part(int fd, uint64_t at, uint64_t size)
{
	char *data = size <= MAX_TABLE_BYTES && at <= INT64_MAX ? malloc(size + 1) : NULL;
	uint64_t done = 0;
	ssize_t n = 1;

	while (data && done < size && n > 0) {
		n = pread(fd, data + done, size - done, at + done);
		done += n > 0 ? (uint64_t)n : 0;
	}
	if (!data || done < size) {
		free(data);
		return NULL;
	}
	data[size] = 0;
	return data;
}

static bool read_header(int fd, Elf64_Ehdr *h)
{
	return pread(fd, h, sizeof(*h), 0) == sizeof(*h) && !memcmp(h->e_ident, ELFMAG, SELFMAG) &&
	       h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_ident[EI_DATA] == ELFDATA2LSB &&
	       h->e_phentsize == sizeof(Elf64_Phdr) && h->e_phnum <= MAX_SEGMENTS &&
	       h->e_shentsize == sizeof(Elf64_Shdr) && h->e_shnum <= MAX_SECTIONS;
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->size < y->size ? -1 : x->size > y->size;
}

/* Copy the symbols that are functions from the n symbols in sym. */
static bool copy_functions(struct gpubpf_symbols *s, const Elf64_Sym *sym, uint64_t n)
{
	s->list = calloc(n + 1, sizeof(*s->list));
	for (uint64_t i = 0; s->list && i < n; i++) {
		uint32_t type = ELF64_ST_TYPE(sym[i].st_info);

		if ((type == STT_FUNC || type == STT_GNU_IFUNC) && sym[i].st_shndx != SHN_UNDEF &&
		    sym[i].st_name < s->size && s->names[sym[i].st_name])
			s->list[s->n++] = (struct symbol){ sym[i].st_value, sym[i].st_size, sym[i].st_name };
	}
	if (s->n)
		qsort(s->list, s->n, sizeof(*s->list), by_address);
	return s->n;
}

/* Read the symbol table of section number `table`, and its string table. */
static bool read_table(int fd, struct gpubpf_symbols *s, const Elf64_Shdr *sections, uint32_t n, uint32_t table)
{
	const Elf64_Shdr *t = &sections[table], *names = t->sh_link < n ? &sections[t->sh_link] : NULL;
	Elf64_Sym *sym;
	bool copied;

	if (!names || names->sh_type != SHT_STRTAB)
		return false;
	s->names = read_part(fd, names->sh_offset, names->sh_size);
	s->size = names->sh_size;
	sym = s->names ? read_part(fd, t->sh_offset, t->sh_size) : NULL;
	copied = sym && copy_functions(s, sym, t->sh_size / sizeof(*sym));
	free(sym);
	if (copied)
		return true;
	free(s->names);
	free(s->list);
	s->names = NULL;
	s->list = NULL;
	return false;
}

/* Read the full symbol table. If the file lacks it, read the dynamic symbol table. */
static bool read_tables(int fd, struct gpubpf_symbols *s, const Elf64_Shdr *sections, uint32_t n)
{
	static const uint32_t kinds[] = { SHT_SYMTAB, SHT_DYNSYM };

	for (size_t k = 0; k < 2; k++)
		for (uint32_t i = 0; i < n; i++)
			if (sections[i].sh_type == kinds[k] && read_table(fd, s, sections, n, i))
				return true;
	return false;
}

struct gpubpf_symbols *gpubpf_symbols_read(int fd)
{
	struct gpubpf_symbols *s = calloc(1, sizeof(*s));
	Elf64_Shdr *sections = NULL;
	bool good = false;
	Elf64_Ehdr h;

	if (s && read_header(fd, &h)) {
		s->segment = read_part(fd, h.e_phoff, h.e_phnum * sizeof(*s->segment));
		s->nsegments = h.e_phnum;
		sections = read_part(fd, h.e_shoff, h.e_shnum * sizeof(*sections));
		good = s->segment && sections && read_tables(fd, s, sections, h.e_shnum);
	}
	free(sections);
	if (good)
		return s;
	gpubpf_symbols_free(s);
	return NULL;
}

void gpubpf_symbols_free(struct gpubpf_symbols *s)
{
	if (!s)
		return;
	free(s->segment);
	free(s->list);
	free(s->names);
	free(s);
}

static bool address_of(const struct gpubpf_symbols *s, uint64_t offset, uint64_t *address)
{
	for (uint32_t i = 0; i < s->nsegments; i++) {
		const Elf64_Phdr *p = &s->segment[i];

		if (p->p_type != PT_LOAD || offset - p->p_offset >= p->p_filesz)
			continue;
		*address = p->p_vaddr + (offset - p->p_offset);
		return true;
	}
	return false;
}

const char *gpubpf_symbols_find(const struct gpubpf_symbols *s, uint64_t offset, uint64_t *from)
{
	uint64_t address, below = 0, left = s->n;
	const struct symbol *found;

	if (!address_of(s, offset, &address))
		return NULL;
	while (left) {
		uint64_t half = left / 2;

		if (s->list[below + half].address <= address) {
			below += half + 1;
			left -= half + 1;
		} else {
			left = half;
		}
	}
	found = below ? &s->list[below - 1] : NULL;
	if (!found || (found->size && address - found->address >= found->size))
		return NULL;
	*from = address - found->address;
	return s->names + found->name;
}

/* -- build ids -- */

static bool find_build_id(const uint8_t *notes, uint64_t size, uint8_t id[GPUBPF_BUILD_ID])
{
	Elf64_Nhdr n;

	for (uint64_t at = 0, name, data; size - at >= sizeof(n); at = data + ((n.n_descsz + 3ull) & ~3ull)) {
		memcpy(&n, notes + at, sizeof(n));
		name = at + sizeof(n);
		data = name + ((n.n_namesz + 3ull) & ~3ull);
		if (data > size || n.n_descsz > size - data)
			return false;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == sizeof(ELF_NOTE_GNU) && n.n_descsz &&
		    n.n_descsz <= GPUBPF_BUILD_ID && !memcmp(notes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU))) {
			memset(id, 0, GPUBPF_BUILD_ID);
			memcpy(id, notes + data, n.n_descsz);
			return true;
		}
		if (((n.n_descsz + 3ull) & ~3ull) > size - data)
			return false;
	}
	return false;
}

bool gpubpf_build_id_read(int fd, uint8_t id[GPUBPF_BUILD_ID])
{
	Elf64_Phdr *segments = NULL;
	bool found = false;
	Elf64_Ehdr h;

	if (read_header(fd, &h))
		segments = read_part(fd, h.e_phoff, (uint64_t)h.e_phnum * sizeof(*segments));
	for (uint32_t i = 0; segments && i < h.e_phnum && !found; i++) {
		uint8_t *notes = segments[i].p_type == PT_NOTE ?
					 read_part(fd, segments[i].p_offset, segments[i].p_filesz) :
					 NULL;

		found = notes && find_build_id(notes, segments[i].p_filesz, id);
		free(notes);
	}
	free(segments);
	return found;
}
