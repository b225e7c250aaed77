/* SPDX-License-Identifier: Apache-2.0 */
#include "cubin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/wire/name.h"

#define MIN_ITEM_BYTES 4 /* minimum size of an item of .nv.info */
#define ABI_SM_HIGH 8 /* from this ABI version on, bits 8..15 of e_flags are the architecture; before, bits 0..7 */

static int set_error(struct gpubpf_diag *diag, const char *what)
{
	return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "cubin: %s", what);
}

static bool is_within(const struct sass_cubin *c, uint64_t off, uint64_t size)
{
	return off <= c->size && size <= c->size - off;
}

/* Reads the header of section i before the section table is known. */
static bool read_head(const struct sass_cubin *c, uint64_t i, Elf64_Shdr *head)
{
	if (i >= c->size / sizeof(*head) || !is_within(c, c->head.e_shoff + i * sizeof(*head), sizeof(*head)))
		return false;
	memcpy(head, c->data + c->head.e_shoff + i * sizeof(*head), sizeof(*head));
	return true;
}

static bool has_bytes(const Elf64_Shdr *head)
{
	return head->sh_type != SHT_NOBITS && head->sh_type != SHT_NULL && head->sh_size;
}

/* Returns the string at offset `off` of the section; NULL unless the string ends inside of the section. */
static const char *string(const struct sass_section *strings, uint32_t off)
{
	const char *at = (const char *)strings->data;

	if (!at || off >= strings->size || !memchr(at + off, 0, strings->size - off))
		return NULL;
	return at + off;
}

/* -- lists of numbers with the same key -- */

/* Builds for each key the list of the numbers that have this key. key() returns the key of each number from 1 to n. A
 * number with key SASS_NONE is in no list. Returns 0 or -ENOMEM. */
static int build_chain(struct sass_chains *chains, const struct sass_cubin *c, uint32_t n, uint32_t nkeys,
		       uint32_t (*key)(const struct sass_cubin *c, uint32_t i))
{
	uint32_t *room = calloc((size_t)nkeys + n + 1, sizeof(*room));

	if (!room)
		return -ENOMEM;
	*chains = (struct sass_chains){ room, room + nkeys, nkeys };
	for (uint32_t i = n; i > 0; i--) {
		uint32_t k = key(c, i);

		if (k >= nkeys)
			continue;
		chains->next[i] = chains->first[k];
		chains->first[k] = i;
	}
	return 0;
}

/* Returns the FNV-1a hash of a name, modulo nkeys. */
static uint32_t hash(const char *name, uint32_t nkeys)
{
	uint32_t h = 0x811c9dc5;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 0x01000193;
	return h % nkeys;
}

static uint32_t hash_of_section(const struct sass_cubin *c, uint32_t i)
{
	return hash(c->sections[i].name, c->nsections);
}

static uint32_t info_of_section(const struct sass_cubin *c, uint32_t i)
{
	return c->sections[i].head.sh_info;
}

static bool is_code(const struct sass_cubin *c, uint32_t section)
{
	return section < c->nsections && c->sections[section].head.sh_flags & SHF_EXECINSTR;
}

static uint32_t key_if_general(const struct sass_cubin *c, uint32_t i)
{
	return is_code(c, i) || is_code(c, c->sections[i].head.sh_info) ? SASS_NONE : 0;
}

static uint32_t key_if_reserved(const struct sass_cubin *c, uint32_t i)
{
	return strncmp(c->symbols[i].name, ".nv.reservedSmem", 16) ? SASS_NONE : 0;
}

static uint32_t section_of_symbol(const struct sass_cubin *c, uint32_t i)
{
	return c->symbols[i].section;
}

static uint32_t hash_of_kernel(const struct sass_cubin *c, uint32_t i)
{
	const char *name = c->symbols[c->kernels[i - 1].symbol].name;
	char known[GPUBPF_NAME_SIZE];

	gpubpf_name_short(name, strlen(name), known);
	return hash(known, c->nkernels);
}

static uint32_t symbol_of_item(const struct sass_cubin *c, uint32_t i)
{
	const struct sass_section *info = &c->sections[sass_section_find(c, ".nv.info")];
	size_t at = c->item_at[i];
	struct sass_item item;

	if (!sass_item_next(info->data, info->size, &at, &item))
		return SASS_NONE;
	if (!item.data)
		return c->nsymbols;
	return item.size == 8 && sass_get32(item.data) < c->nsymbols ? sass_get32(item.data) : SASS_NONE;
}

static int read_sections(struct sass_cubin *c, struct gpubpf_diag *diag)
{
	uint32_t names = c->head.e_shstrndx;
	Elf64_Shdr first;

	if (c->head.e_shentsize != sizeof(first) || c->head.e_shoff > c->size || !read_head(c, 0, &first))
		return set_error(diag, "the section table is invalid");
	c->nsections = c->head.e_shnum ? c->head.e_shnum : first.sh_size; /* ELF's extended numbering: with many
	                                                                   * sections, the first section header has
	                                                                   * the number */
	names = names == SHN_XINDEX ? first.sh_link : names;
	if (names >= c->nsections || c->nsections > (c->size - c->head.e_shoff) / sizeof(first))
		return set_error(diag, "the section table is invalid");
	c->sections = calloc(c->nsections, sizeof(*c->sections));
	if (!c->sections)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->nsections; i++) {
		struct sass_section *s = &c->sections[i];

		read_head(c, i, &s->head);
		if (has_bytes(&s->head) && !is_within(c, s->head.sh_offset, s->head.sh_size))
			return set_error(diag, "a section extends beyond the end of the file");
		if (s->head.sh_link >= c->nsections)
			return set_error(diag, "a section's sh_link is invalid");
		s->data = has_bytes(&s->head) ? c->data + s->head.sh_offset : NULL;
		s->size = s->data ? s->head.sh_size : 0;
	}
	for (uint32_t i = 0; i < c->nsections; i++)
		if (!(c->sections[i].name = string(&c->sections[names], c->sections[i].head.sh_name)))
			return set_error(diag, "a section's name is invalid");
	if (build_chain(&c->sections_by_name, c, c->nsections - 1, c->nsections, hash_of_section))
		return -ENOMEM;
	if (build_chain(&c->general, c, c->nsections - 1, 1, key_if_general))
		return -ENOMEM;
	return build_chain(&c->sections_by_info, c, c->nsections - 1, c->nsections, info_of_section);
}

static uint32_t find_type(const struct sass_cubin *c, uint32_t type)
{
	for (uint32_t i = 1; i < c->nsections; i++)
		if (c->sections[i].head.sh_type == type)
			return i;
	return 0;
}

static uint32_t get_section(const struct sass_cubin *c, const struct sass_section *extended, uint32_t symbol, uint16_t index)
{
	uint32_t section = index;

	if (index == SHN_XINDEX && extended->data && symbol < extended->size / sizeof(uint32_t))
		section = sass_get32(extended->data + symbol * sizeof(uint32_t));
	else if (index >= SHN_LORESERVE)
		return SASS_NONE;
	return section < c->nsections ? section : SASS_NONE;
}

static int read_symbols(struct sass_cubin *c, struct gpubpf_diag *diag)
{
	const struct sass_section *table, *strings, *extended = &c->sections[find_type(c, SHT_SYMTAB_SHNDX)];

	c->symtab = find_type(c, SHT_SYMTAB);
	table = &c->sections[c->symtab];
	if (!c->symtab || !table->data || table->head.sh_link >= c->nsections)
		return set_error(diag, "it has no symbol table");
	strings = &c->sections[table->head.sh_link];
	c->nsymbols = table->size / sizeof(Elf64_Sym);
	c->symbols = calloc(c->nsymbols + 1, sizeof(*c->symbols));
	if (!c->symbols)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->nsymbols; i++) {
		struct sass_symbol *s = &c->symbols[i];

		memcpy(&s->head, table->data + i * sizeof(s->head), sizeof(s->head));
		s->name = string(strings, s->head.st_name);
		s->section = get_section(c, extended, i, s->head.st_shndx);
		if (!s->name)
			return set_error(diag, "a symbol's name is invalid");
	}
	if (c->nsymbols && build_chain(&c->reserved, c, c->nsymbols - 1, 1, key_if_reserved))
		return -ENOMEM;
	return c->nsymbols ? build_chain(&c->symbols_by_section, c, c->nsymbols - 1, c->nsections, section_of_symbol) : 0;
}

bool sass_item_next(const uint8_t *data, size_t size, size_t *at, struct sass_item *item)
{
	if (!data || *at > size || size - *at < 4)
		return false;
	*item = (struct sass_item){ data[*at], data[*at + 1], sass_get16(data + *at + 2), NULL };
	*at += 4;
	if (item->format != SASS_FORMAT_SIZED)
		return true;
	if (item->size > size - *at)
		return false;
	item->data = data + *at;
	*at += item->size;
	return true;
}

static bool is_kernel(const struct sass_cubin *c, const struct sass_symbol *s)
{
	return ELF64_ST_TYPE(s->head.st_info) == STT_FUNC && s->head.st_other & SASS_STO_ENTRY && s->section &&
	       s->section != SASS_NONE && c->sections[s->section].head.sh_flags & SHF_EXECINSTR;
}

static void read_kernel_item(struct sass_cubin *c, const struct sass_item *item, const uint32_t *of)
{
	uint32_t symbol = item->data && item->size == 8 ? sass_get32(item->data) : SASS_NONE;
	struct sass_kernel *k = symbol < c->nsymbols && of[symbol] ? &c->kernels[of[symbol] - 1] : NULL;

	if (item->data)
		c->symbol_attrs[item->attr / 64] |= 1ull << item->attr % 64;
	if (!k)
		return;
	if (item->attr == SASS_ATTR_REGCOUNT)
		k->regs = sass_get32(item->data + 4);
	else if (item->attr == SASS_ATTR_FRAME_SIZE)
		k->frame = sass_get32(item->data + 4);
	else if (item->attr == SASS_ATTR_MIN_STACK_SIZE)
		k->stack = sass_get32(item->data + 4);
}

/* Reads .nv.info. of[symbol] is 1 + the index of the kernel with that symbol, or 0 if the symbol is no kernel. */
static int read_info(struct sass_cubin *c, const uint32_t *of)
{
	const struct sass_section *info = &c->sections[sass_section_find(c, ".nv.info")];
	struct sass_item item;
	size_t at = 0;
	uint32_t n = 0;

	c->item_at = malloc((info->size / MIN_ITEM_BYTES + 1) * sizeof(*c->item_at));
	if (!c->item_at)
		return -ENOMEM;
	for (uint32_t from = 0; sass_item_next(info->data, info->size, &at, &item); from = at) {
		read_kernel_item(c, &item, of);
		c->item_at[++n] = from;
	}
	return build_chain(&c->items, c, n, c->nsymbols + 1, symbol_of_item);
}

/* Returns the index of section .nv.info.<kernel> for a code section; 0: none. If there are several, the last. */
static uint32_t find_info(const struct sass_cubin *c, uint32_t text)
{
	uint32_t found = 0;

	for (uint32_t i = sass_first(&c->sections_by_info, text); i; i = c->sections_by_info.next[i])
		if (!strncmp(c->sections[i].name, ".nv.info.", 9))
			found = i;
	return found;
}

static int read_kernels(struct sass_cubin *c)
{
	uint32_t *of = calloc(c->nsymbols + 1, sizeof(*of));
	int err;

	c->kernels = calloc(c->nsymbols + 1, sizeof(*c->kernels));
	if (!of || !c->kernels) {
		free(of);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < c->nsymbols; i++)
		if (is_kernel(c, &c->symbols[i])) {
			struct sass_kernel *k = &c->kernels[c->nkernels++];

			*k = (struct sass_kernel){ .symbol = i, .text = c->symbols[i].section };
			if (c->head.e_ident[EI_ABIVERSION] < ABI_SM_HIGH)
				k->regs = c->sections[k->text].head.sh_info >> 24;
			of[i] = c->nkernels;
		}
	for (uint32_t i = 0; i < c->nkernels; i++)
		c->kernels[i].info = find_info(c, c->kernels[i].text);
	err = read_info(c, of);
	free(of);
	return err < 0 || !c->nkernels ? err :
					 build_chain(&c->kernels_by_name, c, c->nkernels, c->nkernels, hash_of_kernel);
}

static int read_head_of_file(struct sass_cubin *c, struct gpubpf_diag *diag)
{
	if (c->size < sizeof(c->head))
		return set_error(diag, "it is truncated");
	memcpy(&c->head, c->data, sizeof(c->head));
	if (memcmp(c->head.e_ident, ELFMAG, SELFMAG) || c->head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    c->head.e_ident[EI_DATA] != ELFDATA2LSB || c->head.e_machine != EM_CUDA)
		return set_error(diag, "it is not NVIDIA machine code");
	c->sm = c->head.e_flags >> (c->head.e_ident[EI_ABIVERSION] < ABI_SM_HIGH ? 0 : 8) & 0xff;
	return 0;
}

int sass_cubin_open(const void *data, size_t size, struct sass_cubin *cubin, struct gpubpf_diag *diag)
{
	int err;

	*cubin = (struct sass_cubin){ .data = data, .size = size };
	err = read_head_of_file(cubin, diag);
	if (!err)
		err = read_sections(cubin, diag);
	if (!err)
		err = read_symbols(cubin, diag);
	if (!err)
		err = read_kernels(cubin);
	if (!err)
		cubin->section_results = calloc(1, sizeof(*cubin->section_results) + cubin->nsections);
	if (!err && !cubin->section_results)
		err = -ENOMEM;
	if (err < 0)
		sass_cubin_finish(cubin);
	return err;
}

void sass_cubin_finish(struct sass_cubin *cubin)
{
	free(cubin->sections);
	free(cubin->symbols);
	free(cubin->kernels);
	free(cubin->sections_by_name.first);
	free(cubin->sections_by_info.first);
	free(cubin->general.first);
	free(cubin->reserved.first);
	free(cubin->symbols_by_section.first);
	free(cubin->kernels_by_name.first);
	free(cubin->items.first);
	free(cubin->item_at);
	free(cubin->section_results);
	*cubin = (struct sass_cubin){ 0 };
}

uint32_t sass_section_find(const struct sass_cubin *c, const char *name)
{
	for (uint32_t i = sass_first(&c->sections_by_name, hash(name, c->nsections)); i; i = c->sections_by_name.next[i])
		if (!strcmp(c->sections[i].name, name))
			return i;
	return 0;
}

uint32_t sass_section_of(const struct sass_cubin *c, const char *prefix, uint32_t text)
{
	size_t n = strlen(prefix);

	for (uint32_t i = sass_first(&c->sections_by_info, text); i; i = c->sections_by_info.next[i])
		if (!strncmp(c->sections[i].name, prefix, n))
			return i;
	return 0;
}

static bool is_named(const char *symbol, const char *name)
{
	char known[GPUBPF_NAME_SIZE];

	gpubpf_name_short(symbol, strlen(symbol), known);
	return !strcmp(known, name);
}

const struct sass_kernel *sass_kernel_find(const struct sass_cubin *c, const char *name)
{
	for (uint32_t i = c->nkernels ? sass_first(&c->kernels_by_name, hash(name, c->nkernels)) : 0; i;
	     i = c->kernels_by_name.next[i])
		if (is_named(c->symbols[c->kernels[i - 1].symbol].name, name))
			return &c->kernels[i - 1];
	return NULL;
}

uint32_t sass_relocations_of(const struct sass_cubin *c, uint32_t section)
{
	for (uint32_t i = sass_first(&c->sections_by_info, section); i; i = c->sections_by_info.next[i]) {
		const Elf64_Shdr *head = &c->sections[i].head;

		if ((head->sh_type == SHT_REL || head->sh_type == SHT_RELA) && head->sh_size)
			return i;
	}
	return 0;
}

int sass_relocations_each(const struct sass_cubin *c, uint32_t section,
			  int (*fn)(void *arg, const struct sass_relocation *relocation), void *arg)
{
	const struct sass_section *table = &c->sections[section ? sass_relocations_of(c, section) : 0];
	size_t size = table->head.sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	int err = 0;

	for (size_t at = 0; !err && table->data && at + size <= table->size; at += size) {
		Elf64_Rela r = { 0 };

		memcpy(&r, table->data + at, size);
		err = fn(arg, &(struct sass_relocation){ r.r_offset, ELF64_R_SYM(r.r_info), ELF64_R_TYPE(r.r_info),
							 r.r_addend });
	}
	return err;
}
