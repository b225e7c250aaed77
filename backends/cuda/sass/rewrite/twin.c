/* SPDX-License-Identifier: Apache-2.0 */
#include "twin_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "count.h"

#define CODE_ALIGN 128
#define REGS_SHIFT 24              /* of a text section's sh_info: registers, with ABI version 7 */
#define ABI_REGS_IN_INFO 7
#define MERCURY 0x10000000         /* sh_flags: the same code in another form, for other architectures */
#define MAX_NEW_SECTIONS 12        /* maximum number of sections of the twin that are neither copied nor code */

/* -- names -- */

/* A copy of `prefix` followed by the twin's name, which lives as long as the writer. */
static const char *twin_rename(struct writer *w, const char *name, size_t prefix)
{
	size_t size = prefix + strlen(w->twin_name) + 1;
	char *copy = w->nrenamed < OWN_NAMES ? malloc(size) : NULL;

	w->failed |= !copy;
	if (!copy)
		return name;
	memcpy(copy, name, prefix);
	strcpy(copy + prefix, w->twin_name);
	return w->renamed[w->nrenamed++] = copy;
}

/* Section names end with the kernel's name (".text.NAME"). In the twin they end with the twin's. */
static const char *section_name(struct writer *w, const char *name)
{
	const char *kernel = w->app->symbols[w->kernel->symbol].name;
	size_t n = strlen(name), own = strlen(kernel);

	return n > own && name[n - own - 1] == '.' && !strcmp(name + n - own, kernel) ? twin_rename(w, name, n - own) : name;
}

static const char *symbol_name(struct writer *w, const struct sass_symbol *s)
{
	if (s == &w->app->symbols[w->kernel->symbol])
		return w->twin_name;
	return ELF64_ST_TYPE(s->head.st_info) == STT_SECTION ? section_name(w, s->name) : s->name;
}

/* -- which sections -- */

static uint32_t add(struct writer *w, const char *name, const Elf64_Shdr *head, const void *data, uint32_t from)
{
	struct out_section *s = &w->sections[w->nsections];

	*s = (struct out_section){ *head, name, data, from };
	if (from)
		w->section[from] = w->nsections;
	return w->nsections++;
}

static uint32_t add_copy(struct writer *w, uint32_t from)
{
	const struct sass_section *s = &w->app->sections[from];

	return add(w, section_name(w, s->name), &s->head, s->data, from);
}

/* Compares numbers: in a large module nearly all sections belong to other kernels, and comparing names takes long. */
static bool is_of_other_code(const struct writer *w, const struct sass_section *s)
{
	return s->head.sh_info != w->kernel->text && s->head.sh_info < w->app->nsections &&
	       w->app->sections[s->head.sh_info].head.sh_flags & SHF_EXECINSTR;
}

/* Is the section copied? It is if it describes the whole module or belongs to the kernel's section. */
static bool is_copied(const struct writer *w, uint32_t i)
{
	const struct sass_section *s = &w->app->sections[i];
	static const char *const whole[] = { ".note.nv.", ".nv.compat", ".nv.rel.action", ".nv.shared.reserved." };
	static const char *const own[] = { ".nv.info.", ".nv.constant0.", ".nv.constant2.", ".nv.shared.", ".nv.local." };

	if (s->head.sh_flags & (MERCURY | SHF_EXECINSTR) || is_of_other_code(w, s))
		return false;
	if (!strcmp(s->name, ".nv.info") || !strcmp(s->name, ".nv.callgraph"))
		return true;
	for (size_t k = 0; k < sizeof(whole) / sizeof(*whole); k++)
		if (begins(s->name, whole[k]))
			return true;
	if (s->head.sh_info != w->kernel->text)
		return false;
	for (size_t k = 0; k < sizeof(own) / sizeof(*own); k++)
		if (begins(s->name, own[k]))
			return true;
	return false;
}

/* Loaders find segments by the order of sections: sections that are not loaded, constants, code, data, constants of the
 * kernel. */
static int rank(const struct sass_section *s)
{
	if (begins(s->name, ".nv.constant0.") || begins(s->name, ".nv.constant2."))
		return 4;
	if (s->head.sh_type == SHT_NOBITS)
		return 3;
	return s->head.sh_flags & SHF_ALLOC ? 1 : 0;
}

int sass_compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint32_t length(const struct sass_chains *chains, uint32_t key)
{
	uint32_t n = 0;

	for (uint32_t i = sass_first(chains, key); i; i = chains->next[i])
		n++;
	return n;
}

static void collect_copied(struct writer *w, const struct sass_chains *chains, uint32_t key)
{
	for (uint32_t i = sass_first(chains, key); i; i = chains->next[i])
		if (is_copied(w, i))
			w->kept[w->nkept++] = i;
}

static int find_copied(struct writer *w)
{
	const struct sass_cubin *app = w->app;

	w->kept = malloc((length(&app->general, 0) + length(&app->of_section, w->kernel->text) + 1) * sizeof(*w->kept));
	if (!w->kept)
		return -ENOMEM;
	collect_copied(w, &app->general, 0);
	collect_copied(w, &app->of_section, w->kernel->text);
	qsort(w->kept, w->nkept, sizeof(*w->kept), sass_compare_u32);
	w->sections = calloc(w->nkept + 2 * w->texts.n + MAX_NEW_SECTIONS, sizeof(*w->sections));
	return w->sections ? 0 : -ENOMEM;
}

static void add_rank(struct writer *w, int wanted)
{
	for (uint32_t i = 0; i < w->nkept; i++)
		if (rank(&w->app->sections[w->kept[i]]) == wanted)
			add_copy(w, w->kept[i]);
}

/* -- symbols -- */

void sass_twin_add_symbol(struct writer *w, uint32_t symbol)
{
	if (symbol && !w->has[symbol])
		w->wanted[w->nwanted++] = symbol;
	w->has[symbol] = 1;
}

/* Functions of the driver that the kernel or its callees may call. */
static void select_externs(struct writer *w)
{
	const struct sass_section *s = &w->app->sections[w->kernel->info];
	struct sass_item item;
	size_t at = 0;

	while (sass_item_next(s->data, s->size, &at, &item))
		for (size_t k = 0; item.attr == SASS_ATTR_EXTERNS && k + 4 <= item.size && item.data; k += 4) {
			uint32_t symbol = sass_get32(item.data + k);

			if (symbol < w->app->nsymbols && sass_is_system_call(&w->app->symbols[symbol]))
				sass_twin_add_symbol(w, symbol);
		}
}

static bool is_data(const struct writer *w, const struct sass_symbol *s)
{
	return ELF64_ST_TYPE(s->head.st_info) == STT_OBJECT && begins(w->app->sections[s->section].name, ".nv.global");
}

static void select_symbols(struct writer *w)
{
	const struct sass_chains *of = &w->app->symbols_of;

	select_externs(w);
	for (uint32_t k = 1; k < w->nsections; k++)
		for (uint32_t i = w->sections[k].from ? sass_first(of, w->sections[k].from) : 0; i; i = of->next[i])
			if (!is_data(w, &w->app->symbols[i]))
				sass_twin_add_symbol(w, i);
	for (uint32_t i = sass_first(&w->app->reserved, 0); i; i = w->app->reserved.next[i])
		sass_twin_add_symbol(w, i);
	qsort(w->wanted, w->nwanted, sizeof(*w->wanted), sass_compare_u32);
}

static size_t add_string(char *to, size_t *size, const char *text)
{
	size_t at = *size, n = strlen(text) + 1;

	memcpy(to + at, text, n);
	*size += n;
	return at;
}

static void append_symbol(struct writer *w, const struct sass_symbol *s, uint32_t section, uint64_t size)
{
	Elf64_Sym *out = &w->symbols[w->nsymbols++];

	*out = s->head;
	out->st_name = *s->name ? add_string(w->strings, &w->strings_size, symbol_name(w, s)) : 0;
	out->st_shndx = section;
	out->st_size = size;
}

static void append_symbols(struct writer *w)
{
	for (uint32_t k = 0; k < w->nwanted; k++) {
		uint32_t i = w->wanted[k];
		const struct sass_symbol *s = &w->app->symbols[i];

		w->symbol[i] = w->nsymbols;
		append_symbol(w, s, s->section && s->section != SASS_NONE ? w->section[s->section] : s->head.st_shndx,
			      i == w->kernel->symbol ? w->grafted->n * SASS_INSN : s->head.st_size);
	}
}

/* The words of the probes, where the agent finds them. */
static void append_words(struct writer *w, uint32_t bank)
{
	for (uint32_t i = 1; w->constants && i < w->probes->nsymbols; i++) {
		const struct sass_symbol *s = &w->probes->symbols[i];

		if (s->section == bank)
			append_symbol(w, s, w->constants, s->head.st_size);
	}
}

static void map_relocations(const struct writer *w, Elf64_Rela *relocations, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t info = relocations[i].r_info;

		relocations[i].r_info = ELF64_R_INFO((uint64_t)w->symbol[ELF64_R_SYM(info)], ELF64_R_TYPE(info));
	}
}

static int make_symbols(struct writer *w, uint32_t bank)
{
	size_t strings = 1 + OWN_NAMES * sizeof(w->twin_name);

	select_symbols(w);
	for (uint32_t i = 0; i < w->nwanted; i++)
		strings += strlen(w->app->symbols[w->wanted[i]].name) + 1;
	for (uint32_t i = 0; i < w->probes->nsymbols; i++)
		strings += strlen(w->probes->symbols[i].name) + 1;
	w->symbols = calloc(w->nwanted + w->probes->nsymbols + 1, sizeof(*w->symbols));
	w->strings = calloc(1, strings);
	if (!w->symbols || !w->strings)
		return -ENOMEM;
	w->nsymbols = 1;
	w->strings_size = 1;
	append_symbols(w);
	append_words(w, bank);
	if (w->failed)
		return -ENOMEM;
	map_relocations(w, w->relocations, w->nrelocations);
	map_relocations(w, w->of_code, w->nof_code);
	return 0;
}

/* -- the file -- */

enum { SECTION_NAMES = 1, SECTION_STRINGS, SECTION_SYMBOLS, FIRST_COPIED };

static void add_own(struct writer *w)
{
	const Elf64_Shdr strings = { .sh_type = SHT_STRTAB, .sh_addralign = 1 };
	const Elf64_Shdr symbols = { .sh_type = SHT_SYMTAB, .sh_link = SECTION_STRINGS, .sh_addralign = 8,
				     .sh_entsize = sizeof(Elf64_Sym) };
	const Elf64_Shdr frames = { .sh_type = SHT_PROGBITS, .sh_addralign = 1 }; /* tools expect this section here */

	w->nsections = 1;
	add(w, ".shstrtab", &strings, NULL, 0);
	add(w, ".strtab", &strings, NULL, 0);
	add(w, ".symtab", &symbols, NULL, w->app->symtab);
	add(w, ".debug_frame", &frames, NULL, 0);
}

/* of: the section of the application's cubin that they apply to. */
static void add_relocations(struct writer *w, const char *name, const Elf64_Rela *relocations, uint32_t n, uint32_t of)
{
	const Elf64_Shdr head = { .sh_type = SHT_RELA, .sh_flags = SHF_INFO_LINK, .sh_link = SECTION_SYMBOLS, .sh_info = of,
				  .sh_size = n * sizeof(*relocations), .sh_addralign = 8, .sh_entsize = sizeof(*relocations) };

	if (n)
		add(w, name, &head, relocations, 0);
}

static int add_code_relocations(struct writer *w)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < w->texts.n; i++) {
		uint32_t before = w->nof_code, section = w->texts.section[i];

		err = sass_twin_addresses_of_code(w, section);
		add_relocations(w, section_name(w, w->app->sections[sass_relocations_of(w->app, section)].name),
				w->of_code + before, w->nof_code - before, section);
	}
	return err;
}

/* Where memory begins that a launch adds. A word in the gap before would belong to that memory. */
static uint64_t aligned_size(const Elf64_Shdr *head)
{
	uint64_t over = head->sh_addralign ? head->sh_size % head->sh_addralign : 0;

	return head->sh_size + (over ? head->sh_addralign - over : 0);
}

#define MAX_SHARED_BYTES (1u << 20) /* bytes of size and of alignment: more than any block has */

/* The word that counts lanes is after all shared memory of the block. A kernel without shared memory gets a section. */
static int add_count_word(struct writer *w)
{
	uint32_t own = sass_section_of(w->app, ".nv.shared.", w->kernel->text);
	Elf64_Shdr head = { .sh_type = SHT_NOBITS, .sh_flags = SHF_WRITE | SHF_ALLOC | SHF_INFO_LINK, .sh_info = w->kernel->text,
			    .sh_size = w->code->arch->sm >= SASS_COUNT_MIN_SM_RANK ? SASS_COUNT_SYSTEM_BYTES : 0, .sh_addralign = SASS_COUNT_BYTES };
	uint32_t at = own ? w->section[own] :
			    add(w, twin_rename(w, ".nv.shared.", strlen(".nv.shared.")), &head, NULL, 0);

	if (w->sections[at].data || w->sections[at].head.sh_size > MAX_SHARED_BYTES || w->sections[at].head.sh_addralign > MAX_SHARED_BYTES)
		return refuse(w, "its .nv.shared section is invalid (size, alignment or contents)");
	w->sections[at].head.sh_size = aligned_size(&w->sections[at].head) + SASS_COUNT_BYTES;
	return 0;
}

static int choose_sections(struct writer *w, uint32_t bank)
{
	const struct sass_section *text = &w->app->sections[w->kernel->text];
	uint32_t data = sass_section_find(w->app, ".nv.global.init"), addresses = sass_section_find(w->app, ".nv.constant4");
	int err;

	add_own(w);
	add_rank(w, 0);
	err = sass_twin_addresses(w);
	if (err < 0)
		return err;
	if (err)
		add(w, w->app->sections[addresses].name, &w->app->sections[addresses].head, w->addresses, addresses);
	add_relocations(w, ".rela.nv.constant4", w->relocations, w->nrelocations, addresses);
	err = add_code_relocations(w);
	if (!err)
		err = sass_twin_addresses_in_stubs(w);
	if (err < 0)
		return err;
	if (w->probes->sections[bank].data)
		w->constants = add(w, ".nv.constant3", &w->probes->sections[bank].head, w->probes->sections[bank].data, 0);
	add_rank(w, 1);
	add(w, section_name(w, text->name), &text->head, w->grafted->insns, w->kernel->text);
	for (uint32_t i = 1; i < w->texts.n; i++)
		add_copy(w, w->texts.section[i]);
	if (w->nrelocations && data)
		add_copy(w, data);
	add_rank(w, 3);
	if (w->grafted->counts)
		err = add_count_word(w);
	add_rank(w, 4);
	return err;
}

static void set_data(struct writer *w, uint32_t section, const void *data, size_t size)
{
	w->sections[section].data = data;
	w->sections[section].head.sh_size = size;
}

/* Compilers mix local symbols with others. The result is the number of symbols up to the last local one. */
static uint32_t count_local_symbols(const struct writer *w)
{
	uint32_t n = w->nsymbols;

	while (n > 1 && ELF64_ST_BIND(w->symbols[n - 1].st_info) != STB_LOCAL)
		n--;
	return n;
}

/* The sh_info of a function's section: its symbol and, with ABI version 7, its registers. */
static uint32_t function_info(const struct writer *w, uint32_t info)
{
	uint32_t mask = w->app->head.e_ident[EI_ABIVERSION] <= ABI_REGS_IN_INFO ? (1u << REGS_SHIFT) - 1 : UINT32_MAX;

	return (info & ~mask) | ((info & mask) < w->app->nsymbols ? w->symbol[info & mask] : 0);
}

/* Replaces the application's indices of sections and symbols in the headers by the twin's. */
static void fix_heads(struct writer *w)
{
	for (uint32_t i = FIRST_COPIED; i < w->nsections; i++) {
		struct out_section *s = &w->sections[i];
		bool text = s->from == w->kernel->text, constants = i == w->constants;
		bool other = s->from && !text && s->head.sh_flags & SHF_EXECINSTR;

		if (constants)
			s->head.sh_link = s->head.sh_info = 0;
		if (s->head.sh_link && s->from)
			s->head.sh_link = w->section[s->head.sh_link];
		if (text)
			s->head.sh_info = w->symbol[w->kernel->symbol];
		else if (other)
			s->head.sh_info = function_info(w, s->head.sh_info);
		else if (s->head.sh_info && !constants)
			s->head.sh_info = s->head.sh_info < w->app->nsections ? w->section[s->head.sh_info] : 0;
		if (text && w->app->head.e_ident[EI_ABIVERSION] <= ABI_REGS_IN_INFO)
			s->head.sh_info |= w->grafted->regs << REGS_SHIFT;
	}
	w->sections[SECTION_SYMBOLS].head.sh_info = count_local_symbols(w);
}

static int make_contents(struct writer *w, uint32_t bank)
{
	uint32_t graph = sass_section_find(w->app, ".nv.callgraph");
	size_t info = 0, general = 0, calls = 0, names = 1;
	int err = make_symbols(w, bank);

	if (!err)
		err = sass_twin_general(w, &general);
	if (!err)
		err = sass_twin_info(w, &info);
	if (!err)
		err = sass_twin_calls(w, graph, &calls);
	if (err < 0)
		return err;
	if (graph)
		set_data(w, w->section[graph], w->calls, calls);
	set_data(w, w->section[w->kernel->info], w->info, info);
	set_data(w, w->section[sass_section_find(w->app, ".nv.info")], w->general, general);
	set_data(w, w->section[w->kernel->text], w->grafted->insns, w->grafted->n * SASS_INSN);
	set_data(w, SECTION_SYMBOLS, w->symbols, w->nsymbols * sizeof(*w->symbols));
	set_data(w, SECTION_STRINGS, w->strings, w->strings_size);
	for (uint32_t i = 1; i < w->nsections; i++)
		names += strlen(w->sections[i].name) + 1;
	w->names = calloc(1, names);
	if (!w->names)
		return -ENOMEM;
	w->names_size = 1;
	for (uint32_t i = 1; i < w->nsections; i++)
		w->sections[i].head.sh_name = add_string(w->names, &w->names_size, w->sections[i].name);
	set_data(w, SECTION_NAMES, w->names, w->names_size);
	fix_heads(w);
	return 0;
}

static size_t align(size_t n, size_t to)
{
	return to > 1 ? (n + to - 1) / to * to : n;
}

/* Bytes in the file. */
static size_t file_bytes(const struct out_section *s)
{
	return s->data ? s->head.sh_size : 0;
}

static size_t lay_out(struct writer *w)
{
	size_t at = sizeof(Elf64_Ehdr);

	for (uint32_t i = 1; i < w->nsections; i++) {
		Elf64_Shdr *h = &w->sections[i].head;

		at = align(at, w->sections[i].from == w->kernel->text ? CODE_ALIGN : h->sh_addralign > 4096 ? 1 : h->sh_addralign);
		h->sh_offset = at;
		if (h->sh_type != SHT_NOBITS)
			h->sh_size = file_bytes(&w->sections[i]);
		at += file_bytes(&w->sections[i]);
	}
	return align(at, 8);
}

#define SEGMENT_FLAGS (SHF_WRITE | SHF_ALLOC | SHF_EXECINSTR)

/* A segment for each run of sections with the same access, after one for the program headers. */
static uint32_t make_segments(const struct writer *w, Elf64_Phdr *out)
{
	const struct out_section *before = NULL;
	uint32_t n = 2;

	for (uint32_t i = 1; i < w->nsections; i++) {
		const struct out_section *s = &w->sections[i];
		uint64_t flags = s->head.sh_flags & SEGMENT_FLAGS, bytes = file_bytes(s);

		if (!(flags & SHF_ALLOC))
			continue;
		if (!before || (before->head.sh_flags & SEGMENT_FLAGS) != flags)
			out[n++] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_offset = s->head.sh_offset, .p_align = 8,
						 .p_flags = PF_R | (flags & SHF_WRITE ? PF_W : 0) |
							    (flags & SHF_EXECINSTR ? PF_X : 0) };
		out[n - 1].p_filesz = s->head.sh_offset + bytes - out[n - 1].p_offset;
		out[n - 1].p_memsz = out[n - 1].p_filesz > out[n - 1].p_memsz ? out[n - 1].p_filesz : out[n - 1].p_memsz;
		out[n - 1].p_memsz += s->head.sh_type == SHT_NOBITS ? s->head.sh_size : 0;
		before = s;
	}
	return n;
}

static int write_out(struct writer *w)
{
	Elf64_Phdr *segments = calloc(w->nsections + 2, sizeof(*segments));
	size_t heads = lay_out(w), table = heads + w->nsections * sizeof(Elf64_Shdr), size;
	Elf64_Ehdr head = w->app->head;
	uint8_t *out;

	if (!segments)
		return -ENOMEM;
	head.e_phnum = make_segments(w, segments);
	head.e_phoff = table;
	head.e_phentsize = sizeof(*segments);
	head.e_shoff = heads;
	head.e_shnum = w->nsections;
	head.e_shstrndx = SECTION_NAMES;
	size = table + head.e_phnum * sizeof(*segments);
	segments[0] = (Elf64_Phdr){ .p_type = PT_PHDR, .p_flags = PF_R, .p_offset = table, .p_align = 8,
				    .p_filesz = size - table, .p_memsz = size - table };
	segments[1] = segments[0];
	segments[1].p_type = PT_LOAD;
	out = calloc(1, size);
	if (out) {
		memcpy(out, &head, sizeof(head));
		for (uint32_t i = 1; i < w->nsections; i++) {
			const struct out_section *s = &w->sections[i];

			if (file_bytes(s))
				memcpy(out + s->head.sh_offset, s->data, file_bytes(s));
			memcpy(out + heads + i * sizeof(s->head), &s->head, sizeof(s->head));
		}
		memcpy(out + table, segments, size - table);
	}
	free(segments);
	w->twin->cubin = (struct gpubpf_blob){ out, size };
	return out ? 0 : -ENOMEM;
}

/* The layout is known, so the offsets in the file are too. */
static void finish_bindings(struct writer *w)
{
	for (uint32_t i = 0; i < w->twin->nbindings; i++) {
		struct sass_binding *b = &w->twin->bindings[i];

		b->off += w->sections[w->section[b->section]].head.sh_offset;
	}
}

static int check(struct writer *w)
{
	uint32_t constants = sass_section_of(w->app, ".nv.constant2.", w->kernel->text);

	if (w->app->nsections + 8 > SHN_LORESERVE)
		return refuse(w, "its image has too many sections");
	if (!sass_section_find(w->app, ".nv.info"))
		return refuse(w, "the image does not state how many registers it has");
	if (constants && sass_relocations_of(w->app, constants))
		return refuse(w, "its constants have relocations, which twins do not support");
	return 0;
}

static int make(struct writer *w)
{
	uint32_t bank = sass_section_find(w->probes, ".nv.constant3");
	int err = check(w);

	if (!err)
		err = sass_twin_check_attrs(w->app, w->kernel, w->diag);
	if (!err)
		err = sass_texts_find(w->app, w->kernel, &w->texts, w->diag);
	if (!err)
		err = find_copied(w);
	if (!err)
		err = choose_sections(w, bank);
	if (!err)
		err = make_contents(w, bank);
	if (!err)
		err = write_out(w);
	if (!err)
		finish_bindings(w);
	return err;
}

int sass_twin_write(const struct sass_cubin *app, const struct sass_kernel *kernel, const struct sass_code *code,
		    const struct sass_cubin *probes, const struct sass_patched_code *grafted, struct sass_twin *twin,
		    struct gpubpf_diag *diag)
{
	struct writer w = { .app = app, .probes = probes, .kernel = kernel, .code = code, .grafted = grafted, .diag = diag,
			    .twin = twin };
	int err = -ENOMEM;

	*twin = (struct sass_twin){ 0 };
	strcpy(w.twin_name, GPUBPF_TWIN_PREFIX);
	gpubpf_name_short(app->symbols[kernel->symbol].name, strlen(app->symbols[kernel->symbol].name),
			  w.twin_name + strlen(GPUBPF_TWIN_PREFIX));
	w.section = calloc(app->nsections, sizeof(*w.section));
	w.symbol = calloc(app->nsymbols + 1, sizeof(*w.symbol));
	w.has = calloc(app->nsymbols + 1, sizeof(*w.has));
	w.wanted = malloc((app->nsymbols + 1) * sizeof(*w.wanted));
	if (w.section && w.symbol && w.has && w.wanted)
		err = make(&w);
	free(w.sections);
	free(w.section);
	free(w.symbol);
	free(w.has);
	free(w.wanted);
	free(w.kept);
	free(w.symbols);
	free(w.strings);
	free(w.names);
	free(w.info);
	free(w.general);
	free(w.calls);
	free(w.relocations);
	free(w.of_code);
	sass_texts_finish(&w.texts);
	free(w.addresses);
	while (w.nrenamed)
		free(w.renamed[--w.nrenamed]);
	if (err < 0)
		sass_twin_finish(twin);
	return err;
}

void sass_twin_finish(struct sass_twin *twin)
{
	free(twin->cubin.data);
	free(twin->bindings);
	*twin = (struct sass_twin){ 0 };
}
