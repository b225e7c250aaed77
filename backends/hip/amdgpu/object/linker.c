/* SPDX-License-Identifier: Apache-2.0 */
#include "linker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "backends/hip/amdgpu/isa/isa.h"

#define PAGE 4096
#define TAIL 256 /* padding after the code, in bytes: the hardware prefetches instructions */
#define NONE UINT64_MAX

/* The sections of the result, in file order. Part i is section number i + 1, because section 0 is the null section. */
enum part { NOTE, DYNSYM, HASH, DYNSTR, RODATA, TEXT, DYNAMIC, DATA, SYMTAB, STRTAB, SHSTRTAB, NPARTS };

static const struct {
	const char *name;
	uint32_t type, flags, entry, align;
	enum part link;
} shapes[NPARTS] = {
	[NOTE] = { ".note", SHT_NOTE, SHF_ALLOC, 0, 4, 0 },
	[DYNSYM] = { ".dynsym", SHT_DYNSYM, SHF_ALLOC, sizeof(Elf64_Sym), 8, DYNSTR },
	[HASH] = { ".hash", SHT_HASH, SHF_ALLOC, 4, 4, DYNSYM },
	[DYNSTR] = { ".dynstr", SHT_STRTAB, SHF_ALLOC, 0, 1, 0 },
	[RODATA] = { ".rodata", SHT_PROGBITS, SHF_ALLOC, 0, 64, 0 },
	[TEXT] = { ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, PAGE, 0 },
	[DYNAMIC] = { ".dynamic", SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, sizeof(Elf64_Dyn), PAGE, DYNSTR },
	[DATA] = { ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0, 64, 0 },
	[SYMTAB] = { ".symtab", SHT_SYMTAB, 0, sizeof(Elf64_Sym), 8, STRTAB }, /* AMD's loader looks up symbols here */
	[STRTAB] = { ".strtab", SHT_STRTAB, 0, 0, 1, 0 },
	[SHSTRTAB] = { ".shstrtab", SHT_STRTAB, 0, 0, 1, 0 },
};

struct laid {
	uint64_t off; /* offset in the output section `part`; NONE: the section is not linked */
	enum part part;
};

struct linker {
	const struct hip_link *job;
	struct gpubpf_diag *diag;
	struct laid *laid[HIP_LINK_OBJECTS]; /* [object][section] */
	/* [part] offset in the file, which is also the virtual address; size in bytes */
	uint64_t at[NPARTS], size[NPARTS];
	uint64_t total;
	uint32_t nexports, names; /* number of exported symbols; total bytes of their names with NULs */
	uint8_t *out;
};

static int refuse(struct linker *ln, const char *why, const char *name)
{
	return gpubpf_diag_set(ln->diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "linking AMD code: %s%s", why, name);
}

static uint64_t align_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

static bool is_linked(const Elf64_Shdr *head)
{
	return head->sh_flags & SHF_ALLOC && (head->sh_type == SHT_PROGBITS || head->sh_type == SHT_NOBITS);
}

static int lay_out_object(struct linker *ln, uint32_t o)
{
	const struct hip_elf *elf = &ln->job->object[o];
	const uint8_t *bytes;
	Elf64_Shdr head;

	ln->laid[o] = calloc(elf->head.e_shnum + 1u, sizeof(*ln->laid[o]));
	if (!ln->laid[o])
		return -ENOMEM;
	for (uint32_t i = 0; hip_elf_section(elf, i, &head, &bytes); i++) {
		struct laid *p = &ln->laid[o][i];

		p->off = NONE;
		if (!is_linked(&head))
			continue;
		if (head.sh_addralign > PAGE || head.sh_size > UINT32_MAX || (head.sh_type == SHT_PROGBITS && !bytes))
			return refuse(ln,
				      "a section is malformed: ", hip_elf_string(elf, elf->head.e_shstrndx, head.sh_name));
		p->part = head.sh_flags & SHF_EXECINSTR ? TEXT : head.sh_flags & SHF_WRITE ? DATA : RODATA;
		p->off = align_up(ln->size[p->part], head.sh_addralign ? head.sh_addralign : 1);
		ln->size[p->part] = p->off + head.sh_size;
	}
	return 0;
}

static bool is_exported(const struct linker *ln, uint32_t o, const Elf64_Sym *symbol, const char *name)
{
	return ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL && ELF64_ST_VISIBILITY(symbol->st_other) != STV_HIDDEN &&
	       symbol->st_shndx && symbol->st_shndx < ln->job->object[o].head.e_shnum &&
	       ln->laid[o][symbol->st_shndx].off != NONE && strncmp(name, "gpubpf_site_", 12) &&
	       strncmp(name, "gpubpf_inline_", 14);
}

/* Stores the next exported symbol and its name. *o (object) and *i (symbol) are the position of the iteration. Returns
 * false at the end. */
static bool next_export(const struct linker *ln, uint32_t *o, uint32_t *i, Elf64_Sym *symbol, const char **name)
{
	for (; *o < ln->job->nobjects; ++*o, *i = 0) {
		struct hip_symbols all = hip_elf_symbols(&ln->job->object[*o], SHT_SYMTAB);

		while (hip_elf_symbol(&all, (*i)++, symbol, name))
			if (is_exported(ln, *o, symbol, *name))
				return true;
	}
	return false;
}

#define FOR_EACH_EXPORT(ln, o, symbol, name) \
	for (uint32_t o = 0, i_ = 0; next_export(ln, &o, &i_, &symbol, &name);)

static uint64_t get_section_address(const struct linker *ln, uint32_t o, uint32_t section)
{
	const struct laid *p = &ln->laid[o][section];

	return ln->at[p->part] + p->off;
}

static void lay_out(struct linker *ln)
{
	uint64_t at = sizeof(Elf64_Ehdr) + 6 * sizeof(Elf64_Phdr);
	const char *name;
	Elf64_Sym symbol;

	FOR_EACH_EXPORT(ln, o, symbol, name)
	{
		ln->nexports++;
		ln->names += strlen(name) + 1;
	}
	ln->size[NOTE] = sizeof(Elf64_Nhdr) + 8 + align_up(ln->job->metadata_size, 4);
	ln->size[DYNSYM] = (ln->nexports + 1) * sizeof(Elf64_Sym);
	ln->size[HASH] = (2 + 1 + ln->nexports + 1) * 4;
	ln->size[DYNSTR] = ln->names + 1;
	ln->size[SYMTAB] = ln->size[DYNSYM];
	ln->size[STRTAB] = ln->size[DYNSTR];
	ln->size[TEXT] += TAIL;
	ln->size[DYNAMIC] = 6 * sizeof(Elf64_Dyn);
	for (int i = 0; i < NPARTS; i++) {
		ln->size[SHSTRTAB] += strlen(shapes[i].name) + 1 + (i == 0);
		at = align_up(at, shapes[i].align);
		ln->at[i] = at;
		at += ln->size[i];
	}
	ln->total = align_up(at, 8) + (NPARTS + 1) * sizeof(Elf64_Shdr);
}

static void copy_sections(struct linker *ln, uint32_t o)
{
	const uint8_t *bytes;
	Elf64_Shdr head;

	for (uint32_t i = 0; hip_elf_section(&ln->job->object[o], i, &head, &bytes); i++)
		if (ln->laid[o][i].off != NONE && bytes)
			memcpy(ln->out + get_section_address(ln, o, i), bytes, head.sh_size);
}

/* Writes the dynamic symbols and their hash table. The table has a single bucket, since it only needs to be valid, not
 * fast. */
static void write_symbols(struct linker *ln)
{
	uint32_t *hash = (uint32_t *)(ln->out + ln->at[HASH]), n = 0, off = 1;
	Elf64_Sym *table = (Elf64_Sym *)(ln->out + ln->at[DYNSYM]), symbol;
	const char *name;

	hash[0] = 1;
	hash[1] = ln->nexports + 1;
	hash[2] = ln->nexports ? 1 : 0;
	FOR_EACH_EXPORT(ln, o, symbol, name)
	{
		uint32_t part = ln->laid[o][symbol.st_shndx].part;

		table[++n] = (Elf64_Sym){
			.st_name = off,
			.st_info = symbol.st_info,
			.st_other = STV_PROTECTED,
			.st_shndx = part + 1,
			.st_value = get_section_address(ln, o, symbol.st_shndx) + symbol.st_value,
			.st_size = symbol.st_size,
		};
		hash[3 + n] = n < ln->nexports ? n + 1 : 0;
		memcpy(ln->out + ln->at[DYNSTR] + off, name, strlen(name));
		off += strlen(name) + 1;
	}
	memcpy(ln->out + ln->at[SYMTAB], table, ln->size[SYMTAB]);
	memcpy(ln->out + ln->at[STRTAB], ln->out + ln->at[DYNSTR], ln->size[STRTAB]);
}

static void write_note(struct linker *ln)
{
	Elf64_Nhdr head = { 7, ln->job->metadata_size, HIP_NT_METADATA };
	uint8_t *at = ln->out + ln->at[NOTE];

	memcpy(at, &head, sizeof(head));
	memcpy(at + sizeof(head), "AMDGPU", 7);
	if (ln->job->metadata_size)
		memcpy(at + sizeof(head) + 8, ln->job->metadata, ln->job->metadata_size);
}

static void write_dynamic(struct linker *ln)
{
	Elf64_Dyn dynamic[] = {
		{ DT_SYMTAB, { ln->at[DYNSYM] } }, { DT_SYMENT, { sizeof(Elf64_Sym) } },
		{ DT_STRTAB, { ln->at[DYNSTR] } }, { DT_STRSZ, { ln->size[DYNSTR] } },
		{ DT_HASH, { ln->at[HASH] } },     { DT_NULL, { 0 } },
	};

	_Static_assert(sizeof(dynamic) == 6 * sizeof(Elf64_Dyn), "must match the size of DYNAMIC in lay_out()");
	memcpy(ln->out + ln->at[DYNAMIC], dynamic, sizeof(dynamic));
}

static Elf64_Phdr make_segment(const struct linker *ln, uint32_t type, enum part first, enum part last, uint32_t flags,
			       uint32_t align)
{
	uint64_t at = ln->at[first], size = ln->at[last] + ln->size[last] - at;

	return (Elf64_Phdr){ .p_type = type,
			     .p_flags = flags,
			     .p_offset = at,
			     .p_vaddr = at,
			     .p_paddr = at,
			     .p_filesz = size,
			     .p_memsz = size,
			     .p_align = align };
}

static void write_headers(struct linker *ln)
{
	Elf64_Ehdr head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT, HIP_ELFOSABI,
			     ln->job->abi },
		.e_type = ET_DYN,
		.e_machine = EM_AMDGPU,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(head),
		.e_shoff = ln->total - (NPARTS + 1) * sizeof(Elf64_Shdr),
		.e_flags = ln->job->flags,
		.e_ehsize = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 6,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = NPARTS + 1,
		.e_shstrndx = SHSTRTAB + 1,
	};
	Elf64_Phdr load[6] = {
		make_segment(ln, PT_LOAD, NOTE, RODATA, PF_R, PAGE),
		make_segment(ln, PT_LOAD, TEXT, TEXT, PF_R | PF_X, PAGE),
		make_segment(ln, PT_LOAD, DYNAMIC, DATA, PF_R | PF_W, PAGE),
		make_segment(ln, PT_DYNAMIC, DYNAMIC, DYNAMIC, PF_R | PF_W, 8),
		make_segment(ln, PT_NOTE, NOTE, NOTE, PF_R, 4),
		{ .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W },
	};

	/* the first segment includes the ELF header and the program headers */
	load[0].p_filesz = load[0].p_memsz = ln->at[RODATA] + ln->size[RODATA];
	load[0].p_offset = load[0].p_vaddr = load[0].p_paddr = 0;
	memcpy(ln->out, &head, sizeof(head));
	memcpy(ln->out + sizeof(head), load, sizeof(load));
}

static void write_sections(struct linker *ln)
{
	Elf64_Shdr *table = (Elf64_Shdr *)(ln->out + ln->total) - (NPARTS + 1);
	uint32_t off = 1;

	for (int i = 0; i < NPARTS; i++) {
		bool loaded = shapes[i].flags & SHF_ALLOC;

		table[i + 1] = (Elf64_Shdr){
			.sh_name = off,
			.sh_type = shapes[i].type,
			.sh_flags = shapes[i].flags,
			.sh_addr = loaded ? ln->at[i] : 0,
			.sh_offset = ln->at[i],
			.sh_size = ln->size[i],
			.sh_link = shapes[i].link ? shapes[i].link + 1 : 0,
			.sh_info = i == DYNSYM || i == SYMTAB,
			.sh_addralign = i == TEXT    ? 256 :
					i == DYNAMIC ? 8 :
						       shapes[i].align,
			.sh_entsize = shapes[i].entry,
		};
		memcpy(ln->out + ln->at[SHSTRTAB] + off, shapes[i].name, strlen(shapes[i].name));
		off += strlen(shapes[i].name) + 1;
	}
}

/* Finds a defined symbol of this name in all objects. Returns its address, or NONE. */
static uint64_t find_named(const struct linker *ln, const char *name)
{
	Elf64_Sym symbol;

	for (uint32_t o = 0; o < ln->job->nobjects; o++) {
		struct hip_symbols all = hip_elf_symbols(&ln->job->object[o], SHT_SYMTAB);

		if (hip_elf_find(&all, name, &symbol) && symbol.st_shndx < ln->job->object[o].head.e_shnum &&
		    ln->laid[o][symbol.st_shndx].off != NONE)
			return get_section_address(ln, o, symbol.st_shndx) + symbol.st_value;
	}
	return NONE;
}

static uint64_t find_address(const struct linker *ln, uint32_t o, uint32_t index, const char **name)
{
	struct hip_symbols all = hip_elf_symbols(&ln->job->object[o], SHT_SYMTAB);
	Elf64_Sym symbol;

	*name = "";
	if (!hip_elf_symbol(&all, index, &symbol, name))
		return NONE;
	if (symbol.st_shndx && symbol.st_shndx < ln->job->object[o].head.e_shnum)
		return ln->laid[o][symbol.st_shndx].off == NONE ?
			       NONE :
			       get_section_address(ln, o, symbol.st_shndx) + symbol.st_value;
	return symbol.st_shndx == SHN_UNDEF && **name ? find_named(ln, *name) : NONE;
}

/* Computes the 16-bit distance of a branch, in 4-byte words from the instruction after the branch. `bytes` is the
 * distance from the branch itself. Returns false if the distance does not fit. */
static bool encode_distance(int64_t bytes, uint16_t *distance)
{
	int64_t words = (bytes - 4) / 4;

	*distance = (uint16_t)words;
	return bytes % 4 == 0 && words >= INT16_MIN && words <= INT16_MAX;
}

static int relocate_one(struct linker *ln, uint64_t place, uint32_t type, uint64_t value, const char *name)
{
	uint64_t distance = value - place;
	uint8_t *at = ln->out + place;
	uint32_t word = distance;
	uint16_t half;

	switch (type) {
	case HIP_R_REL64:
		memcpy(at, &distance, 8);
		return 0;
	case HIP_R_REL32_HI:
		word = distance >> 32;
		memcpy(at, &word, 4);
		return 0;
	case HIP_R_REL32:
	case HIP_R_REL32_LO:
		memcpy(at, &word, 4);
		return 0;
	case HIP_R_REL16:
		if (!encode_distance(distance, &half))
			return refuse(ln, "a branch is too far: ", name);
		memcpy(at, &half, 2);
		return 0;
	}
	return refuse(ln, "a relocation requires dynamic linking: ", name);
}

static int relocate_section(struct linker *ln, uint32_t o, const Elf64_Shdr *relocs, const uint8_t *bytes)
{
	const struct hip_elf *elf = &ln->job->object[o];
	const uint8_t *target;
	Elf64_Shdr head;
	int err = 0;

	if (!bytes || !hip_elf_section(elf, relocs->sh_info, &head, &target) || ln->laid[o][relocs->sh_info].off == NONE)
		return 0;
	for (uint64_t i = 0; !err && i < relocs->sh_size / sizeof(Elf64_Rela); i++) {
		const char *name;
		uint64_t value;
		Elf64_Rela rela;

		memcpy(&rela, bytes + i * sizeof(rela), sizeof(rela));
		value = find_address(ln, o, ELF64_R_SYM(rela.r_info), &name);
		if (head.sh_size < 8 || rela.r_offset > head.sh_size - (ELF64_R_TYPE(rela.r_info) == HIP_R_REL64 ? 8 : 4))
			return refuse(ln, "a relocation lies outside of its section", "");
		if (value == NONE)
			return refuse(ln, "there is no ", name);
		err = relocate_one(ln, get_section_address(ln, o, relocs->sh_info) + rela.r_offset,
				   ELF64_R_TYPE(rela.r_info), value + rela.r_addend, name);
	}
	return err;
}

static int relocate(struct linker *ln, uint32_t o)
{
	const uint8_t *bytes;
	Elf64_Shdr head;
	int err = 0;

	for (uint32_t i = 0; !err && hip_elf_section(&ln->job->object[o], i, &head, &bytes); i++)
		if (head.sh_type == SHT_RELA)
			err = relocate_section(ln, o, &head, bytes);
	return err;
}

static uint32_t find_text(const struct linker *ln, uint32_t o)
{
	const struct hip_elf *elf = &ln->job->object[o];
	const uint8_t *bytes;
	Elf64_Shdr head;

	for (uint32_t i = 0; hip_elf_section(elf, i, &head, &bytes); i++)
		if (!strcmp(hip_elf_string(elf, elf->head.e_shstrndx, head.sh_name), ".text"))
			return i;
	return 0;
}

static int write_branch(struct linker *ln, const struct hip_branch *branch)
{
	uint64_t place = get_section_address(ln, branch->object, find_text(ln, branch->object)) + branch->off;
	uint64_t target = branch->symbol ? find_named(ln, branch->symbol) : NONE;
	const struct hip_isa *isa = hip_isa_of_flags(ln->job->flags);
	uint32_t code = isa->nop;
	uint16_t distance = 0;

	if (branch->symbol && target == NONE)
		return refuse(ln, "there is no ", branch->symbol);
	if (branch->symbol && !encode_distance(target - place, &distance))
		return refuse(ln, "a branch is too far: ", branch->symbol);
	if (branch->symbol)
		code = isa->branch | distance;
	memcpy(ln->out + place, &code, sizeof(code));
	return 0;
}

static int find_position(struct linker *ln, struct hip_link_position *position)
{
	position->off = find_named(ln, position->symbol);
	if (position->off == NONE)
		return refuse(ln, "there is no ", position->symbol);
	position->off += position->bytes_after;
	return 0;
}

static void fill_tail(struct linker *ln)
{
	const struct hip_isa *isa = hip_isa_of_flags(ln->job->flags);

	for (uint64_t at = ln->at[TEXT] + ln->size[TEXT] - TAIL; at < ln->at[TEXT] + ln->size[TEXT]; at += 4)
		memcpy(ln->out + at, &isa->code_end, 4);
}

static int build(struct linker *ln)
{
	int err = 0;

	for (uint32_t o = 0; !err && o < ln->job->nobjects; o++)
		err = lay_out_object(ln, o);
	if (err < 0)
		return err;
	ln->size[TEXT] = align_up(ln->size[TEXT], 4);
	lay_out(ln);
	ln->out = calloc(1, ln->total);
	if (!ln->out)
		return -ENOMEM;
	for (uint32_t o = 0; o < ln->job->nobjects; o++)
		copy_sections(ln, o);
	write_headers(ln);
	write_note(ln);
	write_symbols(ln);
	write_dynamic(ln);
	write_sections(ln);
	fill_tail(ln);
	for (uint32_t o = 0; !err && o < ln->job->nobjects; o++)
		err = relocate(ln, o);
	for (uint32_t i = 0; !err && i < ln->job->nbranches; i++)
		err = write_branch(ln, &ln->job->branches[i]);
	for (uint32_t i = 0; !err && i < ln->job->npositions; i++)
		err = find_position(ln, &ln->job->positions[i]);
	return err;
}

int hip_link(const struct hip_link *job, struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	struct linker ln = { .job = job, .diag = diag };
	int err;

	if (!hip_isa_of_flags(job->flags))
		return refuse(&ln, "the processor in the ELF header's flags is unknown", "");
	err = build(&ln);
	for (uint32_t o = 0; o < job->nobjects; o++)
		free(ln.laid[o]);
	if (err < 0) {
		free(ln.out);
		return err;
	}
	out->data = ln.out;
	out->size = ln.total;
	return 0;
}
