/* SPDX-License-Identifier: Apache-2.0 */
/* Private to twin*.c: the state of a twin that is being written. */
#ifndef GPUBPF_SASS_TWIN_WORK_H
#define GPUBPF_SASS_TWIN_WORK_H

#include <string.h>

#include "backends/cuda/sass/analysis/callees.h"
#include "core/model/diag.h"
#include "core/wire/name.h"
#include "twin.h"

#define OWN_NAMES 32               /* maximum number of names of sections and symbols that are renamed after the twin */

/* a section of the twin. `from` is its index in the application's cubin, or 0 if the section is new or from the
 * probes. */
struct out_section {
	Elf64_Shdr head;
	const char *name;
	const void *data;
	uint32_t from;
};

/* the first sections of the twin; the sections from FIRST_COPIED on may be copies */
enum { SECTION_NAMES = 1, SECTION_STRINGS, SECTION_SYMBOLS, FIRST_COPIED };

struct writer {
	const struct sass_cubin *app, *probes;
	const struct sass_kernel *kernel;
	const struct sass_code *code;
	const struct sass_patched_code *patched;
	struct gpubpf_diag *diag;
	struct sass_word *words; /* malloc'd: the code of the twin, encoded */
	struct out_section *sections;
	uint32_t nsections, constants; /* constants: index in the twin of the probes' c[0x3], 0 if there is none */
	uint32_t *section, *symbol;    /* section[i] and symbol[i] are the indices in the twin of section i and
	                                * symbol i of the application's cubin; 0: not in the twin */
	uint32_t *copied, ncopied;     /* copied[]: indices, in rising order, of the application's sections that the
	                                * twin copies */
	uint8_t *is_selected;          /* is_selected[i]: the twin has symbol i of the application */
	uint32_t *selected, nselected; /* selected[]: indices of the selected symbols; sorted when all are known */
	Elf64_Sym *symbols;
	uint32_t nsymbols;
	char *strings, *names;
	size_t strings_size, names_size;
	char twin_name[GPUBPF_NAME_SIZE + sizeof(GPUBPF_TWIN_PREFIX)];
	char *renamed[OWN_NAMES]; /* malloc'd: names of sections, with the name of the twin in place of the kernel's */
	uint32_t nrenamed;
	bool failed;                     /* an allocation of a name has failed */
	uint8_t *info, *general, *calls; /* malloc'd: contents of .nv.info.<kernel>, .nv.info and .nv.callgraph
	                                       * of the twin */
	struct sass_texts texts;         /* the application's code sections that the twin contains */
	Elf64_Rela *relocations, *code_relocations; /* relocations of c[0x4] and of code; sass_twin_make_symbols()
	                                             * replaces the application's symbol indices in them by the
	                                             * twin's */
	uint32_t nrelocations, ncode_relocations;
	uint32_t text;      /* index of the application's code section whose relocations are being
	                                       * read */
	uint8_t *addresses; /* malloc'd: contents of c[0x4] of the twin */
	struct sass_twin *twin;
};

#define refuse(w, ...) gpubpf_diag_refuse((w)->diag, INJECT, __VA_ARGS__)

static inline bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

/* For qsort(): compares two uint32_t. */
static inline int sass_compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Returns the name of a section in the twin. A name that ends with the kernel's name (".text.NAME") gets the twin's
 * name in place of the kernel's. */
const char *sass_twin_section_name(struct writer *w, const char *name);
/* Lists in w->copied the sections that the twin copies, and allocates w->sections. Returns 0 or -ENOMEM. */
int sass_twin_find_copied(struct writer *w);
/* Adds all sections to w->sections, in the order that loaders expect. bank: index of section c[0x3] of the probes.
 * Returns 0, -ENOMEM, or -EINVAL with the reason in w->diag. */
int sass_twin_choose_sections(struct writer *w, uint32_t bank);

/* Builds w->symbols and w->strings. Returns 0 or -ENOMEM. */
int sass_twin_make_symbols(struct writer *w, uint32_t bank);
/* Appends a string with its NUL to `to`, which must be large enough. Returns the offset of the string. */
size_t sass_twin_add_string(char *to, size_t *size, const char *text);
/* Adds a symbol of the application's cubin to the twin. */
void sass_twin_add_symbol(struct writer *w, uint32_t symbol);

/* Finds the addresses that the kernel reads from c[0x4]. Adds them to w->addresses, w->relocations and the bindings
 * of the twin. Returns 1 if there are such addresses, 0 if there are none, -ENOMEM, or -EINVAL with the reason in
 * w->diag why a twin cannot have an address. */
int sass_twin_addresses(struct writer *w);
/* The first function adds the addresses in the code of a section of w->texts to w->code_relocations or to the
 * bindings. The second function adds the addresses of __constant__ variables in stubs to the bindings. Both return 0
 * or an error of sass_twin_addresses(). */
int sass_twin_addresses_of_code(struct writer *w, uint32_t section);
int sass_twin_addresses_in_stubs(struct writer *w);

/* Build w->general (.nv.info), w->info (.nv.info.<kernel>) and w->calls (.nv.callgraph). section: index of the
 * application's .nv.callgraph. Set *size to the number of bytes. Return 0, -ENOMEM, or -EINVAL with the reason in
 * w->diag. */
int sass_twin_general(struct writer *w, size_t *size);
int sass_twin_info(struct writer *w, size_t *size);
int sass_twin_calls(struct writer *w, uint32_t section, size_t *size);

/* Replaces the application's section and symbol indices in the section headers by the twin's. */
void sass_twin_fix_heads(struct writer *w);
/* Sets sizes and offsets of the sections, and writes the file to w->twin->cubin. Returns 0 or -ENOMEM. */
int sass_twin_write_file(struct writer *w);

#endif
