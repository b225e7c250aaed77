/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does:     selects the sections of the application's cubin that the twin copies, and puts all sections in order.
 * Before:   sass_texts_find() has listed the code sections.
 * After:    w->sections has all sections. The sections of symbols, strings and attributes have no contents yet.
 * Requires: nothing.
 */
#include "twin_work.h"

#include <errno.h>
#include <stdlib.h>

#include "backends/cuda/sass/isa/lane_count.h"

#define MERCURY 0x10000000         /* bit of sh_flags: the section holds the same code in another form, for other
                                    * architectures */
#define MAX_NEW_SECTIONS 12        /* maximum number of sections of the twin that are neither copied nor code */

/* -- names -- */

/* Returns the first `prefix` bytes of `name`, followed by the name of the twin. The writer owns the string. */
static const char *rename_section(struct writer *w, const char *name, size_t prefix)
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

const char *sass_twin_section_name(struct writer *w, const char *name)
{
	const char *kernel = w->app->symbols[w->kernel->symbol].name;
	size_t n = strlen(name), own = strlen(kernel);

	return n > own && name[n - own - 1] == '.' && !strcmp(name + n - own, kernel) ? rename_section(w, name, n - own) :
											name;
}

/* -- copied sections -- */

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

	return add(w, sass_twin_section_name(w, s->name), &s->head, s->data, from);
}

/* Does the section belong to the code of another kernel? A large module has thousands of such sections. So this
 * compares section numbers, because comparing names is slow. */
static bool is_of_other_code(const struct writer *w, const struct sass_section *s)
{
	return s->head.sh_info != w->kernel->text && s->head.sh_info < w->app->nsections &&
	       w->app->sections[s->head.sh_info].head.sh_flags & SHF_EXECINSTR;
}

/* Does the twin copy the section? It does so if the section describes the whole module or belongs to the kernel's
 * code section. */
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

/* Returns the rank of a copied section, which decides its position in the twin. Sections that are not loaded have
 * rank 0, constants of the module 1, data without contents 3, and constants of the kernel 4. Rank 2 belongs to code,
 * which is not copied. Loaders find segments by this order. */
static int rank(const struct sass_section *s)
{
	if (begins(s->name, ".nv.constant0.") || begins(s->name, ".nv.constant2."))
		return 4;
	if (s->head.sh_type == SHT_NOBITS)
		return 3;
	return s->head.sh_flags & SHF_ALLOC ? 1 : 0;
}

static uint32_t count_items(const struct sass_chains *chains, uint32_t key)
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
			w->copied[w->ncopied++] = i;
}

int sass_twin_find_copied(struct writer *w)
{
	const struct sass_cubin *app = w->app;

	w->copied = malloc((count_items(&app->general, 0) + count_items(&app->sections_by_info, w->kernel->text) + 1) *
			   sizeof(*w->copied));
	if (!w->copied)
		return -ENOMEM;
	collect_copied(w, &app->general, 0);
	collect_copied(w, &app->sections_by_info, w->kernel->text);
	qsort(w->copied, w->ncopied, sizeof(*w->copied), sass_compare_u32);
	w->sections = calloc(w->ncopied + 2 * w->texts.n + MAX_NEW_SECTIONS, sizeof(*w->sections));
	return w->sections ? 0 : -ENOMEM;
}

static void add_rank(struct writer *w, int wanted)
{
	for (uint32_t i = 0; i < w->ncopied; i++)
		if (rank(&w->app->sections[w->copied[i]]) == wanted)
			add_copy(w, w->copied[i]);
}

/* -- the order -- */

static void add_own(struct writer *w)
{
	const Elf64_Shdr strings = { .sh_type = SHT_STRTAB, .sh_addralign = 1 };
	const Elf64_Shdr symbols = {
		.sh_type = SHT_SYMTAB, .sh_link = SECTION_STRINGS, .sh_addralign = 8, .sh_entsize = sizeof(Elf64_Sym)
	};
	const Elf64_Shdr frames = { .sh_type = SHT_PROGBITS, .sh_addralign = 1 }; /* tools expect this section here */

	w->nsections = 1;
	add(w, ".shstrtab", &strings, NULL, 0);
	add(w, ".strtab", &strings, NULL, 0);
	add(w, ".symtab", &symbols, NULL, w->app->symtab);
	add(w, ".debug_frame", &frames, NULL, 0);
}

/* Adds a section of relocations that apply to section `of`, an index in the application's cubin. */
static void add_relocations(struct writer *w, const char *name, const Elf64_Rela *relocations, uint32_t n, uint32_t of)
{
	const Elf64_Shdr head = { .sh_type = SHT_RELA,
				  .sh_flags = SHF_INFO_LINK,
				  .sh_link = SECTION_SYMBOLS,
				  .sh_info = of,
				  .sh_size = n * sizeof(*relocations),
				  .sh_addralign = 8,
				  .sh_entsize = sizeof(*relocations) };

	if (n)
		add(w, name, &head, relocations, 0);
}

static int add_code_relocations(struct writer *w)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < w->texts.n; i++) {
		uint32_t before = w->ncode_relocations, section = w->texts.section[i];

		err = sass_twin_addresses_of_code(w, section);
		add_relocations(w, sass_twin_section_name(w, w->app->sections[sass_relocations_of(w->app, section)].name),
				w->code_relocations + before, w->ncode_relocations - before, section);
	}
	return err;
}

/* Returns the size of the shared memory rounded up to its alignment, which is where dynamic shared memory begins. A
 * counter in the gap before this offset would not stay the last word of shared memory. */
static uint64_t align_section_size(const Elf64_Shdr *head)
{
	uint64_t over = head->sh_addralign ? head->sh_size % head->sh_addralign : 0;

	return head->sh_size + (over ? head->sh_addralign - over : 0);
}

#define MAX_SHARED_BYTES (1u << 20) /* limit in bytes of the size and of the alignment of shared memory, more than
                                     * any block has */

/* Adds the counter after all shared memory of the block. A kernel without shared memory gets a section for the
 * counter. */
static int add_count_word(struct writer *w)
{
	uint32_t own = sass_section_of(w->app, ".nv.shared.", w->kernel->text);
	Elf64_Shdr head = { .sh_type = SHT_NOBITS,
			    .sh_flags = SHF_WRITE | SHF_ALLOC | SHF_INFO_LINK,
			    .sh_info = w->kernel->text,
			    .sh_size = w->code->arch->sm >= SASS_COUNT_MIN_SM_RANK ? SASS_COUNT_SYSTEM_BYTES : 0,
			    .sh_addralign = SASS_COUNT_BYTES };
	uint32_t at = own ? w->section[own] :
			    add(w, rename_section(w, ".nv.shared.", strlen(".nv.shared.")), &head, NULL, 0);

	if (w->sections[at].data || w->sections[at].head.sh_size > MAX_SHARED_BYTES ||
	    w->sections[at].head.sh_addralign > MAX_SHARED_BYTES)
		return refuse(w, "its .nv.shared section is invalid (size, alignment or contents)");
	w->sections[at].head.sh_size = align_section_size(&w->sections[at].head) + SASS_COUNT_BYTES;
	return 0;
}

int sass_twin_choose_sections(struct writer *w, uint32_t bank)
{
	const struct sass_section *text = &w->app->sections[w->kernel->text];
	uint32_t data = sass_section_find(w->app, ".nv.global.init"),
		 addresses = sass_section_find(w->app, ".nv.constant4");
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
	add(w, sass_twin_section_name(w, text->name), &text->head, w->words, w->kernel->text);
	for (uint32_t i = 1; i < w->texts.n; i++)
		add_copy(w, w->texts.section[i]);
	if (w->nrelocations && data)
		add_copy(w, data);
	add_rank(w, 3);
	if (w->patched->counts)
		err = add_count_word(w);
	add_rank(w, 4);
	return err;
}
