/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the BPF object: an ELF file with .maps, .BTF and .BTF.ext, like the output of clang -target bpf. */
#include <bpf/btf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gen.h"

#define R_BPF_64_64 1

struct bytes {
	char *data;
	size_t size, room;
	bool failed;
};

/* an ELF section with its programs, in order */
struct section {
	const char *name;
	struct bytes code, relocs;
	uint32_t index; /* index of the section in the ELF file */
};

struct object {
	struct lang *l;
	struct lang_types types;
	const struct lang_code *code;
	struct section *section;
	uint32_t nsections;
	struct bytes strings, symbols, ext;
	Elf *elf;
	bool failed;
};

/* header of .BTF.ext, in the format that core/load/btfext.c reads */
struct ext_header {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t hdr_len, func_info_off, func_info_len, line_info_off, line_info_len, core_relo_off, core_relo_len;
};

static uint32_t put(struct bytes *b, const void *data, size_t size)
{
	size_t at = b->size, room = b->room ? b->room : 256;
	char *grown = b->data;

	while (room < at + size)
		room *= 2;
	if (room > b->room)
		grown = realloc(b->data, room);
	if (!grown) {
		b->failed = true;
		return 0;
	}
	b->data = grown;
	b->room = room;
	memcpy(b->data + at, data, size);
	b->size += size;
	return at;
}

static void put_u32(struct bytes *b, uint32_t v)
{
	put(b, &v, sizeof(v));
}

static uint32_t string(struct object *o, const char *s)
{
	return put(&o->strings, s, strlen(s) + 1);
}

/* -- sections of programs -- */

static struct section *section_of(struct object *o, const char *name)
{
	for (uint32_t i = 0; i < o->nsections; i++)
		if (!strcmp(o->section[i].name, name))
			return &o->section[i];
	o->section[o->nsections].name = name;
	return &o->section[o->nsections++];
}

static void symbol(struct object *o, const char *name, uint32_t section, int type, uint64_t at, uint64_t size)
{
	Elf64_Sym sym = {
		.st_name = string(o, name),
		.st_info = ELF64_ST_INFO(STB_GLOBAL, type),
		.st_shndx = section,
		.st_value = at,
		.st_size = size,
	};

	put(&o->symbols, &sym, sizeof(sym));
}

/* Return the index of the symbol of a function. */
static uint64_t function_symbol(const struct object *o, const struct lang_code *function)
{
	uint64_t sym = 1 + o->types.nmaps + (o->l->names_size != 0);

	for (const struct lang_code *c = o->code; c && c != function; c = c->next)
		sym++;
	return sym;
}

/*
 * Add the code and the symbol of a program. The order of symbols is: the null symbol, the maps, .rodata if it exists,
 * the programs.
 */
static void add_program(struct object *o, const struct lang_code *code)
{
	struct section *s = section_of(o, code->section);
	uint32_t at = put(&s->code, code->insn, code->n * sizeof(*code->insn));

	for (uint32_t i = 0; i < code->nrelocs; i++) {
		const struct lang_reloc *reloc = &code->reloc[i];
		uint64_t sym = reloc->function ? function_symbol(o, reloc->function) : 1 + (uint64_t)reloc->map;
		Elf64_Rel rel = {
			.r_offset = at + reloc->insn * sizeof(*code->insn),
			.r_info = ELF64_R_INFO(sym, R_BPF_64_64),
		};

		put(&s->relocs, &rel, sizeof(rel));
	}
	symbol(o, code->name, s->index, STT_FUNC, at, code->n * sizeof(*code->insn));
}

/* -- .BTF.ext -- */

static uint32_t line_text(struct object *o, uint32_t pos)
{
	const struct lang *l = o->l;
	uint32_t begin = pos, end = pos;
	char *text;
	int id;

	while (begin && l->text[begin - 1] != '\n')
		begin--;
	while (end < l->total && l->text[end] != '\n' && end - begin < 400)
		end++;
	text = strndup(l->text + begin, end - begin);
	id = text ? btf__add_str(o->types.btf, text) : -ENOMEM;
	free(text);
	o->failed |= id < 0;
	return id;
}

static void add_lines(struct object *o, const struct lang_code *code, uint32_t at)
{
	for (uint32_t i = 0; i < code->nlines; i++) {
		int file = btf__add_str(o->types.btf, lang_source_name(o->l, code->line[i].pos));
		struct bpf_line_info line = {
			.insn_off = at + code->line[i].insn * sizeof(*code->insn),
			.file_name_off = file,
			.line_off = line_text(o, code->line[i].pos),
		};
		uint32_t row, column;

		lang_line_column(o->l, code->line[i].pos, &row, &column);
		line.line_col = row << 10 | (column < 1024 ? column : 1023);
		put(&o->ext, &line, sizeof(line));
		o->failed |= file < 0;
	}
}

/* Append to .BTF.ext the function infos, or with `lines` the line infos, of the programs of a section. */
static void add_infos(struct object *o, const struct lang_code *code, const struct section *s, bool lines)
{
	uint32_t head, n = 0, at = 0, func = o->types.func;
	int name = btf__add_str(o->types.btf, s->name);

	put_u32(&o->ext, name);
	head = put(&o->ext, &n, sizeof(n));
	for (; code; code = code->next, func++) {
		struct bpf_func_info info = { .insn_off = at, .type_id = func };

		if (strcmp(code->section, s->name))
			continue;
		if (lines)
			add_lines(o, code, at);
		else
			put(&o->ext, &info, sizeof(info));
		n += lines ? code->nlines : 1;
		at += code->n * sizeof(*code->insn);
	}
	if (!o->ext.failed)
		memcpy(o->ext.data + head, &n, sizeof(n));
	o->failed |= name < 0;
}

static void add_ext(struct object *o, const struct lang_code *code)
{
	struct ext_header h = { .magic = 0xeb9f, .version = 1, .hdr_len = sizeof(h) };

	put(&o->ext, &h, sizeof(h));
	put_u32(&o->ext, sizeof(struct bpf_func_info));
	for (uint32_t i = 0; i < o->nsections; i++)
		add_infos(o, code, &o->section[i], false);
	h.func_info_len = h.line_info_off = h.core_relo_off = o->ext.size - sizeof(h);
	put_u32(&o->ext, sizeof(struct bpf_line_info));
	for (uint32_t i = 0; i < o->nsections; i++)
		add_infos(o, code, &o->section[i], true);
	h.line_info_len = o->ext.size - sizeof(h) - h.line_info_off;
	h.core_relo_off = o->ext.size - sizeof(h);
	if (!o->ext.failed)
		memcpy(o->ext.data, &h, sizeof(h));
}

/* -- the file -- */

static Elf_Scn *section(struct object *o, const char *name, uint32_t type, uint64_t flags, const void *data, size_t size)
{
	Elf_Scn *scn = elf_newscn(o->elf);
	Elf_Data *d = scn ? elf_newdata(scn) : NULL;
	Elf64_Shdr *h = scn ? elf64_getshdr(scn) : NULL;

	if (!d || !h) {
		o->failed = true;
		return NULL;
	}
	d->d_buf = (void *)data;
	d->d_size = size;
	d->d_align = 8;
	d->d_type = ELF_T_BYTE;
	d->d_version = EV_CURRENT;
	h->sh_name = string(o, name);
	h->sh_type = type;
	h->sh_flags = flags;
	h->sh_addralign = 8;
	return scn;
}

static void link_section(struct object *o, Elf_Scn *scn, uint32_t link, uint32_t info, uint64_t entsize)
{
	Elf64_Shdr *h = scn ? elf64_getshdr(scn) : NULL;

	if (!h)
		return;
	h->sh_link = link;
	h->sh_info = info;
	h->sh_entsize = entsize;
}

/*
 * Indices of the sections. Their order is: strings, symbols, license, .BTF, .BTF.ext, .maps and .rodata if they exist,
 * the programs, and the relocations of the programs.
 */
enum { STRINGS = 1, SYMBOLS, LICENSE, BTF, EXT, MAPS };

static void write_sections(struct object *o, const void *maps)
{
	static const char license[] = "GPL";
	Elf_Scn *strings = section(o, ".strtab", SHT_STRTAB, 0, NULL, 0), *scn;
	uint32_t size;
	const void *btf;

	scn = section(o, ".symtab", SHT_SYMTAB, 0, o->symbols.data, o->symbols.size);
	link_section(o, scn, STRINGS, 1, sizeof(Elf64_Sym));
	section(o, "license", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, license, sizeof(license));
	btf = btf__raw_data(o->types.btf, &size);
	section(o, ".BTF", SHT_PROGBITS, 0, btf, size);
	section(o, ".BTF.ext", SHT_PROGBITS, 0, o->ext.data, o->ext.size);
	if (o->types.nmaps)
		section(o, ".maps", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, maps, o->types.maps_size);
	if (o->l->names_size)
		section(o, ".rodata", SHT_PROGBITS, SHF_ALLOC, o->l->names, o->l->names_size);
	for (uint32_t i = 0; i < o->nsections; i++)
		section(o, o->section[i].name, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, o->section[i].code.data,
			o->section[i].code.size);
	for (uint32_t i = 0; i < o->nsections; i++) {
		if (!o->section[i].relocs.size)
			continue;
		scn = section(o, lang_format(o->l, ".rel%s", o->section[i].name), SHT_REL, 0, o->section[i].relocs.data,
			      o->section[i].relocs.size);
		link_section(o, scn, SYMBOLS, o->section[i].index, sizeof(Elf64_Rel));
	}
	o->failed |= !btf || !strings;
	if (o->failed)
		return;
	elf_getdata(strings, NULL)->d_buf = o->strings.data;
	elf_getdata(strings, NULL)->d_size = o->strings.size;
}

static int read_back(struct object *o, int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);

	o->l->object = size > 0 ? malloc(size) : NULL;
	o->l->object_size = size;
	return o->l->object && pread(fd, o->l->object, size, 0) == size ? 0 : -ENOMEM;
}

/* Write the ELF file and read it back into memory. Writing fails if RLIMIT_FSIZE is too small. */
static int update(struct object *o, int fd)
{
	errno = 0;
	if (elf_update(o->elf, ELF_C_WRITE) < 0)
		return errno ? -errno : -ENOMEM;
	return read_back(o, fd);
}

static int write_file(struct object *o, const void *maps)
{
	int fd = memfd_create("gpubpf-object", MFD_CLOEXEC), err = fd < 0 ? -errno : -ENOMEM;
	Elf64_Ehdr *h;

	elf_version(EV_CURRENT);
	o->elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_WRITE, NULL);
	h = o->elf ? elf64_newehdr(o->elf) : NULL;
	if (h) {
		h->e_ident[EI_DATA] = ELFDATA2LSB;
		h->e_type = ET_REL;
		h->e_machine = EM_BPF;
		h->e_version = EV_CURRENT;
		h->e_shstrndx = STRINGS;
		write_sections(o, maps);
		if (!o->failed && !o->strings.failed && !o->symbols.failed && !o->ext.failed)
			err = update(o, fd);
	}
	elf_end(o->elf);
	if (fd >= 0)
		close(fd);
	return err;
}

static int make(struct object *o, const struct lang_code *code)
{
	Elf64_Sym none = { 0 };
	uint32_t names = MAPS + (o->types.nmaps != 0), programs = names + (o->l->names_size != 0);
	void *maps = calloc(1, o->types.maps_size + 1);
	int err = -ENOMEM;

	string(o, "");
	put(&o->symbols, &none, sizeof(none));
	for (uint32_t i = 0; i < o->types.nmaps; i++)
		symbol(o, o->types.map[i], MAPS, STT_OBJECT, i * LANG_MAP_DEFINITION, LANG_MAP_DEFINITION);
	if (o->l->names_size)
		symbol(o, "__names", names, STT_OBJECT, 0, o->l->names_size);
	for (const struct lang_code *c = code; c; c = c->next)
		section_of(o, c->section);
	for (uint32_t i = 0; i < o->nsections; i++)
		o->section[i].index = programs + i;
	for (const struct lang_code *c = code; c; c = c->next)
		add_program(o, c);
	add_ext(o, code);
	if (maps)
		err = write_file(o, maps);
	free(maps);
	return err;
}

int lang_object_make(struct lang *l, struct lang_code *code)
{
	struct object o = { .l = l, .code = code };
	uint32_t n = 0;
	int err = lang_types_make(l, code, &o.types);

	for (const struct lang_code *c = code; c; c = c->next)
		n++;
	o.section = lang_alloc(l, (n + 1) * sizeof(*o.section));
	if (!err)
		err = o.section ? make(&o, code) : -ENOMEM;
	for (uint32_t i = 0; o.section && i < o.nsections; i++) {
		free(o.section[i].code.data);
		free(o.section[i].relocs.data);
	}
	btf__free(o.types.btf);
	free(o.strings.data);
	free(o.symbols.data);
	free(o.ext.data);
	return err;
}
