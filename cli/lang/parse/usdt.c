/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds usdt probes: notes of the section .note.stapsdt, in the format of SystemTap.
 * A note has the place of the probe and, in the syntax of the assembler, the places of its arguments.
 */
#include <elf.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parse.h"

/* a probe as its note has it; the places are file offsets */
struct note {
	uint64_t at, semaphore;
	const char *provider, *name, *arguments;
};

static const char *const library_folders[] = { "/lib/x86_64-linux-gnu",
					       "/usr/lib/x86_64-linux-gnu",
					       "/lib/aarch64-linux-gnu",
					       "/usr/lib/aarch64-linux-gnu",
					       "/lib64",
					       "/usr/lib64",
					       "/lib",
					       "/usr/lib" };

/* Return the file of a library with a version in its name, such as libstdc++.so.6, or the same path. */
static const char *with_version(struct lang *l, const char *path)
{
	for (int version = 1; version < 10; version++) {
		const char *file = lang_format(l, "%s.%d", path, version);

		if (file && !access(file, R_OK))
			return file;
	}
	return path;
}

const char *lang_find_file(struct lang *l, const char *name)
{
	const char *path = l->path;

	if (strchr(name, '/'))
		return name;
	for (size_t i = 0; i < sizeof(library_folders) / sizeof(library_folders[0]) && strstr(name, ".so"); i++) {
		const char *file = lang_format(l, "%s/%s", library_folders[i], name);

		if (file && access(file, R_OK))
			file = with_version(l, file);
		if (file && !access(file, R_OK))
			return file;
	}
	while (path && *path) {
		size_t n = strcspn(path, ":");
		const char *file = lang_format(l, "%.*s/%s", (int)n, path, name);

		if (file && !access(file, R_OK))
			return file;
		path += n + (path[n] == ':');
	}
	return name;
}

/* Return the file offset of an address, or 0. */
static uint64_t file_offset(Elf *elf, uint64_t address)
{
	size_t n = 0;
	GElf_Phdr p;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && address >= p.p_vaddr &&
		    address - p.p_vaddr < p.p_filesz)
			return address - p.p_vaddr + p.p_offset;
	return 0;
}

static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *s = NULL;
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return NULL;
	while ((s = elf_nextscn(elf, s))) {
		const char *found = gelf_getshdr(s, header) ? elf_strptr(elf, strings, header->sh_name) : NULL;

		if (found && !strcmp(found, name))
			return s;
	}
	return NULL;
}

/* Read one note. Returns true if it is one. */
static bool read_note(Elf *elf, const char *data, size_t size, struct note *note)
{
	const char *end = data + size;
	uint64_t word[3]; /* address of the probe, address of .stapsdt.base at the link, address of the semaphore */
	uint64_t moved;
	GElf_Shdr base;

	if (size < sizeof(word) + 3 || end[-1])
		return false;
	memcpy(word, data, sizeof(word));
	note->provider = data + sizeof(word);
	note->name = note->provider + strlen(note->provider) + 1;
	note->arguments = note->name < end ? note->name + strlen(note->name) + 1 : end;
	if (note->arguments >= end)
		return false;
	moved = find_section(elf, ".stapsdt.base", &base) ? base.sh_addr - word[1] : 0;
	note->at = file_offset(elf, word[0] + moved);
	note->semaphore = word[2] ? file_offset(elf, word[2] + moved) : 0;
	return note->at;
}

/* Add a note to the list, unless it has the same place as another. Returns the end of the list. */
static struct lang_match **add_match(struct lang *l, struct lang_match *first, struct lang_match **end,
				     const char *path, const struct note *note)
{
	const char *section = lang_format(l, "uprobe/%s:+0x%llx:0x%llx", path, (unsigned long long)note->at,
					  (unsigned long long)note->semaphore);

	for (const struct lang_match *m = first; m && section; m = m->next)
		if (!strcmp(m->section, section))
			return end;
	*end = section ? lang_alloc(l, sizeof(**end)) : NULL;
	if (!*end)
		return end;
	(*end)->name = lang_format(l, "%s:%s", note->provider, note->name);
	(*end)->section = section;
	(*end)->arguments = lang_copy(l, note->arguments, strlen(note->arguments));
	return &(*end)->next;
}

static struct lang_match *find_in(struct lang *l, Elf *elf, const char *path, const char *provider, const char *name)
{
	struct lang_match *first = NULL, **last = &first;
	GElf_Shdr header;
	Elf_Scn *s = find_section(elf, ".note.stapsdt", &header);
	Elf_Data *data = s ? elf_getdata(s, NULL) : NULL;
	size_t at = 0, next, name_at, desc_at;
	struct note note;
	GElf_Nhdr n;

	while (data && !l->failed && (next = gelf_getnote(data, at, &n, &name_at, &desc_at))) {
		if (n.n_type == 3 && read_note(elf, (const char *)data->d_buf + desc_at, n.n_descsz, &note) &&
		    !fnmatch(name, note.name, 0) && (!provider[0] || !fnmatch(provider, note.provider, 0)))
			last = add_match(l, first, last, path, &note);
		at = next;
	}
	return first;
}

struct lang_match *lang_usdt_matches(struct lang_lex *x, const char *binary, const char *provider, const char *name)
{
	const char *path = lang_find_file(x->l, binary);
	struct lang_match *found = NULL;
	Elf *elf = NULL;
	int fd;

	elf_version(EV_CURRENT);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf)
		found = find_in(x->l, elf, path, provider, name);
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	if (!found)
		lang_fail(x->l, x->pos, "readelf -n FILE lists the probes of a file",
			  fd < 0 ? "%.100s cannot be read, so the usdt probe %.60s is not known" :
				   "%.100s has no usdt probe %.60s",
			  path, name);
	return found;
}
