/* SPDX-License-Identifier: Apache-2.0 */
/* Opens images: finds their text, and lists the entries and variables that the text defines. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *word_after(const char *at, const char *key, char *word, size_t size)
{
	size_t n;

	at = strstr(at, key);
	if (!at)
		return NULL;
	at += strlen(key);
	at += strspn(at, " \t");
	n = strcspn(at, " \t\n(;[=,");
	snprintf(word, size, "%.*s", (int)n, at);
	return at + n;
}

static void find_entries(struct fake_image *image)
{
	const char *at = image->text, *from = at;
	struct fake_entry *e = image->entries = image->few;

	while (image->nentries < 16 && (at = word_after(at, ".entry ", e->name, sizeof(e->name)))) {
		const char *regs = from;

		e->regs = 32;
		while ((regs = strstr(regs, "//fake regs ")) && regs < at)
			e->regs = atoi(regs += 12);
		e->from = from = at;
		if (image->nentries)
			e[-1].to = at;
		image->nentries++;
		e++;
	}
	if (image->nentries)
		e[-1].to = image->text + strlen(image->text);
}

static CUresult find_variables(struct fake_image *image)
{
	static const char *const spaces[] = { ".global ", ".const " };

	for (int s = 0; s < 2; s++)
		for (const char *at = image->text; (at = strstr(at, spaces[s])); at++) {
			struct fake_variable *v = &image->variables[image->nvariables];
			const char *name = at + strlen(spaces[s]), *line = at;
			unsigned bytes;

			while (line > image->text && line[-1] != '\n')
				line--;
			if (strstr(name, ".u64") && strstr(name, ".u64") < name + strcspn(name, ";\n"))
				bytes = 8;
			else
				bytes = 4;
			name = strpbrk(name, "\n;") ? name : NULL;
			if (!name || (*line != '.' && strncmp(line, "\t.", 2)) || image->nvariables == 16)
				continue;
			for (const char *type; (type = strstr(name, ".")) && type < name + strcspn(name, ";\n");)
				name = type + strcspn(type, " ") + strspn(type + strcspn(type, " "), " 0123456789");
			snprintf(v->name, sizeof(v->name), "%.*s", (int)strcspn(name, " =[;\n"), name);
			v->size = bytes;
			if (fake_alloc(&v->address, bytes, fake_current()))
				return FAKE_OUT_OF_MEMORY;
			image->nvariables++;
		}
	return 0;
}

static CUresult add_symbol(struct fake_image *image, const char *name, const Elf64_Sym *symbol)
{
	struct fake_variable *v = &image->variables[image->nvariables];

	/* in cubins this bit marks a kernel */
	if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_other & 0x10) {
		struct fake_entry *e = &image->entries[image->nentries++];

		snprintf(e->name, sizeof(e->name), "%s", name);
		e->regs = 32;
		e->from = e->to = image->text;
	} else if (ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_size && image->nvariables < 16) {
		snprintf(v->name, sizeof(v->name), "%s", name);
		v->size = symbol->st_size;
		image->nvariables++;
		return fake_alloc(&v->address, v->size, fake_current());
	}
	return 0;
}

/* Real machine code: lists the functions that its symbols define. */
static CUresult open_cubin(struct fake_image *image, const uint8_t *data)
{
	const Elf64_Ehdr *head = (const void *)data;
	const Elf64_Shdr *sections = (const void *)(data + head->e_shoff), *table = sections;
	const Elf64_Sym *symbols;
	CUresult error = 0;

	while (table < sections + head->e_shnum && table->sh_type != SHT_SYMTAB)
		table++;
	if (table == sections + head->e_shnum)
		return FAKE_INVALID_IMAGE;
	symbols = (const void *)(data + table->sh_offset);
	image->text = strdup("");
	image->entries = calloc(table->sh_size / sizeof(*symbols), sizeof(*image->entries));
	for (size_t i = 0; !error && i < table->sh_size / sizeof(*symbols); i++)
		error = add_symbol(image, (const char *)data + sections[table->sh_link].sh_offset + symbols[i].st_name,
				   &symbols[i]);
	return error;
}

#define FATBIN_WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC 0xba55ed50u
#define FATBIN_PTX 1
#define FATBIN_ELF 2
#define FATBIN_LTOIR 8
#define NEWEST_PTX 9
#define UNHEARD "\tunheard.of;"     /* makes ptxas report "Not a name of any known instruction" */

/*
 * Returns the first machine code in the container, as drivers do. Without machine code, returns the LTO-IR or PTX, which are
 * the same in this fake.
 */
static const void *code_in(const uint8_t *data)
{
	const void *ltoir = NULL;
	uint16_t header, kind;
	uint64_t body, size;
	uint32_t skip;

	memcpy(&header, data + 6, sizeof(header));
	memcpy(&body, data + 8, sizeof(body));
	for (const uint8_t *at = data + header; at < data + header + body; at += skip + size) {
		memcpy(&kind, at, sizeof(kind));
		memcpy(&skip, at + 4, sizeof(skip));
		memcpy(&size, at + 8, sizeof(size));
		if (kind == FATBIN_ELF)
			return at + skip;
		ltoir = kind == FATBIN_LTOIR || (kind == FATBIN_PTX && !ltoir) ? at + skip : ltoir;
	}
	return ltoir;
}

/*
 * Returns whether the text requires a newer PTX version than this driver accepts. A comment may precede the .version
 * directive.
 */
static bool is_newer(const char *text)
{
	const char *version = strstr(text, ".version ");

	return version && strtod(version + strlen(".version "), NULL) > NEWEST_PTX;
}

const void *fake_code(const void *data)
{
	uint32_t magic;

	memcpy(&magic, data, sizeof(magic));
	if (magic == FATBIN_WRAPPER_MAGIC) {
		memcpy(&data, (const char *)data + 8, sizeof(data));
		memcpy(&magic, data, sizeof(magic));
	}
	return magic == FATBIN_MAGIC ? code_in(data) : data;
}

CUresult fake_open(struct fake_image *image, const void *data)
{
	data = fake_code(data);
	if (!data)
		return FAKE_INVALID_IMAGE;
	if (!memcmp(data, ELFMAG, SELFMAG) && ((const Elf64_Ehdr *)data)->e_machine == EM_CUDA)
		return open_cubin(image, data);
	if (!memcmp(data, ELFMAG, SELFMAG))
		data = (const char *)data + sizeof(Elf64_Ehdr); /* fake_cubin() */
	if (strncmp(data, ".version", 8) && strncmp(data, "//", 2))
		return FAKE_INVALID_IMAGE;
	if (is_newer(data))
		return FAKE_NEWER_PTX;
	if (strstr(data, "//fake broken") || strstr(data, UNHEARD))
		return FAKE_INVALID_PTX;
	image->text = strdup(data);
	find_entries(image);
	return find_variables(image);
}
