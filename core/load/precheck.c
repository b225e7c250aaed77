/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the image of an object before libelf and libbpf see it, because they read some input without checks. A
 * malicious object is refused here. (A trial run in a forked child would reveal crashes, but not silent memory
 * corruption.) After this check:
 *
 *   - every section, string, symbol and relocation lies inside the image and inside the section that it names;
 *   - there is one symbol table and at least one function;
 *   - .BTF and .BTF.ext satisfy btfcheck.c and btfext.c;
 *   - counts are so small that no loop of libbpf takes long, although some are quadratic.
 */
#include "internal.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"

#define MAX_SECTIONS 4096u
#define MAX_SYMBOLS (1u << 18)
#define MAX_FUNCS 2048u         /* maximum number of functions: libbpf recurses to the depth of nested calls */
#define MAX_EXTERNS 256u
#define MAX_DATA (64u << 20)    /* maximum total size in bytes of all sections that have no bytes in the file (.bss) */
#define MAX_COPIED (32u << 20)  /* maximum number of sub-program instructions that libbpf copies */
#define INSN_SIZE 8u

struct elf {
	const uint8_t *image;
	size_t size;
	struct gpubpf_diag *diag;
	const Elf64_Shdr *sections;
	uint32_t nsections, names, symtab;
	uint32_t nsymbols, nfuncs, nexterns, nprogs;
	uint64_t insns, text_insns, bss;
};

#define bad(e, ...) gpubpf_diag_refuse((e)->diag, BAD_ELF, __VA_ARGS__)

static const char *get_section_name(const struct elf *e, uint32_t i)
{
	return (const char *)e->image + e->sections[e->names].sh_offset + e->sections[i].sh_name;
}

static const void *get_section_data(const struct elf *e, uint32_t i)
{
	return e->image + e->sections[i].sh_offset;
}

static int check_header(struct elf *e)
{
	const Elf64_Ehdr *h = (const void *)e->image;

	if (e->size < sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG))
		return bad(e, "this is not an ELF file");
	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB)
		return bad(e, "this is not a little-endian 64-bit ELF file");
	if (h->e_type != ET_REL || h->e_machine != EM_BPF)
		return bad(e, "this is an ELF file, but not a BPF object");
	if (h->e_ident[EI_VERSION] != EV_CURRENT || h->e_version != EV_CURRENT || h->e_phnum)
		return bad(e, "the ELF header does not describe a relocatable object");
	if (h->e_shentsize != sizeof(Elf64_Shdr) || !h->e_shnum || h->e_shnum > MAX_SECTIONS || h->e_shoff % 8)
		return bad(e, "the section headers are malformed: %u of %u bytes at %llu", h->e_shnum, h->e_shentsize,
			   (unsigned long long)h->e_shoff);
	if (h->e_shoff > e->size || (e->size - h->e_shoff) / sizeof(Elf64_Shdr) < h->e_shnum)
		return bad(e, "the file is cut off: %u section headers at %llu, but only %zu bytes", h->e_shnum,
			   (unsigned long long)h->e_shoff, e->size);
	if (h->e_shstrndx >= h->e_shnum)
		return bad(e, "section names are in section %u of %u", h->e_shstrndx, h->e_shnum);
	e->sections = (const void *)(e->image + h->e_shoff);
	e->nsections = h->e_shnum;
	e->names = h->e_shstrndx;
	return 0;
}

/* Checks that the section lies inside the file and is aligned for its entries. */
static int check_extent(struct elf *e, uint32_t i)
{
	const Elf64_Shdr *s = &e->sections[i];
	bool words = s->sh_type == SHT_SYMTAB || s->sh_type == SHT_REL || s->sh_flags & SHF_EXECINSTR;

	if (s->sh_type == SHT_NULL)
		return s->sh_size || s->sh_flags ? bad(e, "section %u has type SHT_NULL, but is not empty", i) : 0;
	if (s->sh_addralign & (s->sh_addralign - 1))
		return bad(e, "section %u has alignment %llu, which is not a power of two", i,
			   (unsigned long long)s->sh_addralign);
	if (s->sh_flags & SHF_COMPRESSED)
		return bad(e, "section %u is compressed", i);
	if (s->sh_type == SHT_NOBITS) {
		e->bss += s->sh_size < MAX_DATA ? s->sh_size : MAX_DATA + 1;
		if (e->bss > MAX_DATA)
			return bad(e, "the sections without data in the file (.bss) have more than %u bytes", MAX_DATA);
		return 0;
	}
	if (s->sh_offset > e->size || s->sh_size > e->size - s->sh_offset)
		return bad(e, "the file is cut off: section %u has %llu bytes at %llu, the file %zu", i,
			   (unsigned long long)s->sh_size, (unsigned long long)s->sh_offset, e->size);
	if (words && s->sh_offset % 8)
		return bad(e, "section %u is not aligned", i);
	return 0;
}

static bool overlaps(const Elf64_Shdr *s, uint64_t begin, uint64_t size)
{
	return s->sh_type != SHT_NULL && s->sh_type != SHT_NOBITS && s->sh_size && size &&
	       s->sh_offset < begin + size && begin < s->sh_offset + s->sh_size;
}

/*
 * Refuses sections that overlap. Replacing calls changes code, relocations, symbols and types (kfuncs.c), and must not
 * change other parts that were checked.
 */
static int check_overlaps(struct elf *e)
{
	uint64_t headers = ((const Elf64_Ehdr *)(const void *)e->image)->e_shoff;

	for (uint32_t i = 1; i < e->nsections; i++) {
		const Elf64_Shdr *s = &e->sections[i];

		if (overlaps(s, 0, sizeof(Elf64_Ehdr)) || overlaps(s, headers, e->nsections * sizeof(*s)))
			return bad(e, "section %u overlaps the headers", i);
		for (uint32_t k = 1; k < i && s->sh_type != SHT_NULL && s->sh_type != SHT_NOBITS; k++)
			if (overlaps(&e->sections[k], s->sh_offset, s->sh_size))
				return bad(e, "sections %u and %u overlap", k, i);
	}
	return 0;
}

static int check_strings(struct elf *e, uint32_t i)
{
	const Elf64_Shdr *s = &e->sections[i];
	const char *text = get_section_data(e, i);

	if (s->sh_type != SHT_STRTAB || !s->sh_size || text[0] || text[s->sh_size - 1])
		return bad(e, "section %u is not a string table", i);
	return 0;
}

static int check_sections(struct elf *e)
{
	int err = 0;

	if (e->sections[0].sh_type != SHT_NULL)
		return bad(e, "section 0 must have type SHT_NULL");
	for (uint32_t i = 0; i < e->nsections && err >= 0; i++)
		err = check_extent(e, i);
	if (err >= 0)
		err = check_overlaps(e);
	if (err >= 0)
		err = check_strings(e, e->names);
	for (uint32_t i = 0; i < e->nsections && err >= 0; i++)
		if (e->sections[i].sh_name >= e->sections[e->names].sh_size)
			err = bad(e, "section %u has its name outside the string table", i);
	return err;
}

/* Refuses sections that libbpf cannot handle, and limits the number of instructions. */
static int check_kinds(struct elf *e)
{
	for (uint32_t i = 1; i < e->nsections; i++) {
		const Elf64_Shdr *s = &e->sections[i];
		const char *name = get_section_name(e, i);

		if (!strcmp(name, ".struct_ops"))
			return bad(e, "section '.struct_ops': struct_ops programs are for the Linux kernel only");
		if (!strcmp(name, ".maps") && s->sh_type != SHT_PROGBITS)
			return bad(e, "section '.maps' holds no data");
		if (!(s->sh_flags & SHF_EXECINSTR))
			continue;
		if (s->sh_type != SHT_PROGBITS || s->sh_size % INSN_SIZE)
			return bad(e, "section '%s' does not hold whole instructions", name);
		e->insns += s->sh_size / INSN_SIZE;
		if (!strcmp(name, ".text"))
			e->text_insns = s->sh_size / INSN_SIZE;
		if (e->insns > GPUBPF_MAX_INSNS)
			return bad(e, "more than %u instructions", GPUBPF_MAX_INSNS);
	}
	return 0;
}

static int check_symbol(struct elf *e, uint32_t i, const Elf64_Sym *sym, const Elf64_Shdr *strings)
{
	const Elf64_Shdr *s;
	const char *name;

	if (sym->st_name >= strings->sh_size)
		return bad(e, "symbol %u has its name outside the string table", i);
	name = (const char *)e->image + strings->sh_offset + sym->st_name;
	if (sym->st_shndx == SHN_UNDEF) {
		e->nexterns += i != 0;
		return e->nexterns > MAX_EXTERNS ? bad(e, "more than %u external symbols", MAX_EXTERNS) : 0;
	}
	if (sym->st_shndx == SHN_ABS)
		return 0;
	if (sym->st_shndx >= e->nsections)
		return bad(e, "symbol '%s' is in section %u of %u", name, sym->st_shndx, e->nsections);
	s = &e->sections[sym->st_shndx];
	if (sym->st_value > s->sh_size || sym->st_size > s->sh_size - sym->st_value)
		return bad(e, "symbol '%s' is not inside section '%s'", name, get_section_name(e, sym->st_shndx));
	if (ELF64_ST_TYPE(sym->st_info) != STT_FUNC || !(s->sh_flags & SHF_EXECINSTR))
		return 0;
	if (!sym->st_size || sym->st_size % INSN_SIZE || sym->st_value % INSN_SIZE)
		return bad(e, "function '%s' does not hold whole instructions", name);
	e->nprogs += strcmp(get_section_name(e, sym->st_shndx), ".text") != 0;
	return ++e->nfuncs > MAX_FUNCS ? bad(e, "more than %u functions", MAX_FUNCS) : 0;
}

static int check_symbols(struct elf *e)
{
	const Elf64_Shdr *s = NULL;
	const Elf64_Sym *syms;
	int err;

	for (uint32_t i = 1; i < e->nsections; i++)
		if (e->sections[i].sh_type == SHT_SYMTAB) {
			if (s)
				return bad(e, "there are two symbol tables");
			s = &e->sections[i];
			e->symtab = i;
		}
	if (!s)
		return bad(e, "there is no symbol table: was the object stripped?");
	if (s->sh_entsize != sizeof(*syms) || s->sh_size % sizeof(*syms) || s->sh_size / sizeof(*syms) > MAX_SYMBOLS ||
	    s->sh_link >= e->nsections)
		return bad(e, "the symbol table is malformed");
	err = check_strings(e, s->sh_link);
	syms = get_section_data(e, e->symtab);
	e->nsymbols = s->sh_size / sizeof(*syms);
	for (uint32_t i = 0; i < e->nsymbols && err >= 0; i++)
		err = check_symbol(e, i, &syms[i], &e->sections[s->sh_link]);
	if (err < 0)
		return err;
	if (!e->nfuncs) {
		gpubpf_diag_set(e->diag, GPUBPF_E_NO_PROGRAM, GPUBPF_NOPC, "the object holds no function");
		return -EINVAL;
	}
	if (e->text_insns * e->nprogs > MAX_COPIED)
		return bad(e, "%u programs with %llu instructions of sub-programs are too many", e->nprogs,
			   (unsigned long long)e->text_insns);
	return 0;
}

static int check_relocations(struct elf *e)
{
	for (uint32_t i = 1; i < e->nsections; i++) {
		const Elf64_Shdr *s = &e->sections[i], *target;
		const Elf64_Rel *rel = get_section_data(e, i);

		if (s->sh_type == SHT_RELA)
			return bad(e, "section '%s': relocations with addends do not exist in BPF",
				   get_section_name(e, i));
		if (s->sh_type != SHT_REL)
			continue;
		if (s->sh_entsize != sizeof(*rel) || s->sh_size % sizeof(*rel) || s->sh_link != e->symtab ||
		    !s->sh_info || s->sh_info >= e->nsections)
			return bad(e, "section '%s' is malformed", get_section_name(e, i));
		target = &e->sections[s->sh_info];
		for (uint32_t r = 0; r < s->sh_size / sizeof(*rel); r++)
			if (ELF64_R_SYM(rel[r].r_info) >= e->nsymbols || target->sh_size < 4 ||
			    rel[r].r_offset > target->sh_size - 4 ||
			    (target->sh_flags & SHF_EXECINSTR && rel[r].r_offset % INSN_SIZE))
				return bad(e, "section '%s': relocation %u is malformed", get_section_name(e, i), r);
	}
	return 0;
}

static bool is_local_call(const struct gpubpf_raw_insn *insn)
{
	int src = insn->regs >> 4;

	return (insn->code == 0x85 && src == 1) || (insn->code == 0x18 && src == GPUBPF_IMM_FUNC);
}

/*
 * Checks that all calls from a program's section to sub-programs in .text have relocations. If a program without
 * relocations calls two sub-programs, libbpf 1.1.2 frees memory twice (append_subprog_relos).
 */
static int check_calls(struct elf *e, uint32_t section)
{
	const Elf64_Shdr *s = &e->sections[section];
	const struct gpubpf_raw_insn *insns = get_section_data(e, section);
	uint32_t n = s->sh_size / INSN_SIZE;
	uint8_t *relocated = calloc(n + 1, 1);
	int err = 0;

	if (!relocated) {
		gpubpf_diag_set(e->diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory for %u instructions", n);
		return -ENOMEM;
	}
	for (uint32_t i = 1; i < e->nsections; i++) {
		const Elf64_Rel *rel = get_section_data(e, i);

		if (e->sections[i].sh_type != SHT_REL || e->sections[i].sh_info != section)
			continue;
		for (uint32_t r = 0; r < e->sections[i].sh_size / sizeof(*rel); r++)
			relocated[rel[r].r_offset / INSN_SIZE] = 1;
	}
	for (uint32_t pc = 0; pc < n && err >= 0; pc++)
		if (is_local_call(&insns[pc]) && !relocated[pc])
			err = bad(e, "section '%s': the call at %u has no relocation", get_section_name(e, section), pc);
	free(relocated);
	return err;
}

static int check_all_calls(struct elf *e)
{
	int err = 0;

	for (uint32_t i = 1; i < e->nsections && err >= 0; i++)
		if (e->sections[i].sh_flags & SHF_EXECINSTR && strcmp(get_section_name(e, i), ".text"))
			err = check_calls(e, i);
	return err;
}

/*
 * Finds a section by name. If several sections have that name, libbpf would use the last, so a second one is refused.
 */
static int find_once(struct elf *e, const char *name, uint32_t *index)
{
	*index = 0;
	for (uint32_t i = 1; i < e->nsections; i++) {
		if (strcmp(get_section_name(e, i), name))
			continue;
		if (*index)
			return bad(e, "there are two sections '%s'", name);
		if (e->sections[i].sh_type != SHT_PROGBITS)
			return bad(e, "section '%s' holds no data", name);
		*index = i;
	}
	return 0;
}

static int check_types(struct elf *e)
{
	static const char *const singles[] = { ".maps", "license", "version" };
	struct gpubpf_btf_check check = { .diag = e->diag };
	uint32_t btf, ext, one;
	int err;

	for (size_t i = 0; i < sizeof(singles) / sizeof(singles[0]); i++)
		if ((err = find_once(e, singles[i], &one)) < 0)
			return err;
	err = find_once(e, ".BTF", &btf);
	if (err >= 0)
		err = find_once(e, ".BTF.ext", &ext);
	if (err < 0 || !btf)
		return err;
	err = gpubpf_btf_check(&check, get_section_data(e, btf), e->sections[btf].sh_size);
	if (err >= 0 && ext)
		err = gpubpf_btf_ext_check(&check, get_section_data(e, ext), e->sections[ext].sh_size);
	gpubpf_btf_check_finish(&check);
	return err;
}

int gpubpf_precheck(const void *image, size_t size, struct gpubpf_diag *diag)
{
	struct elf e = { .image = image, .size = size, .diag = diag };
	int err = check_header(&e);

	if (err >= 0)
		err = check_sections(&e);
	if (err >= 0)
		err = check_kinds(&e);
	if (err >= 0)
		err = check_symbols(&e);
	if (err >= 0)
		err = check_relocations(&e);
	if (err >= 0)
		err = check_all_calls(&e);
	return err < 0 ? err : check_types(&e);
}
