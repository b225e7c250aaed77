/* SPDX-License-Identifier: Apache-2.0 */
/* Private to twin*.c: the state of a twin that is being written. */
#ifndef GPUBPF_SASS_TWIN_WORK_H
#define GPUBPF_SASS_TWIN_WORK_H

#include <string.h>

#include "backends/cuda/sass/analysis/callees.h"
#include "core/model/diag.h"
#include "core/wire/name.h"
#include "twin.h"

#define OWN_NAMES 32               /* maximum number of sections and symbols that are renamed after the twin */

/* a section of the twin; `from` is its index in the application's cubin, 0 if it is new or from the probes */
struct out_section {
	Elf64_Shdr head;
	const char *name;
	const void *data;
	uint32_t from;
};

/* the first sections of the twin; those from FIRST_COPIED on may be copies */
enum { SECTION_NAMES = 1, SECTION_STRINGS, SECTION_SYMBOLS, FIRST_COPIED };

struct writer {
	const struct sass_cubin *app, *probes;
	const struct sass_kernel *kernel;
	const struct sass_code *code;
	const struct sass_patched_code *patched;
	struct gpubpf_diag *diag;
	struct out_section *sections;
	uint32_t nsections, constants; /* constants: index of the probes' c[0x3], 0 if there is none */
	uint32_t *section, *symbol;    /* index in the twin of each section and symbol of the application's
	                                       * cubin; 0: not in the twin */
	uint32_t *copied, ncopied;     /* copied[]: indices of the application's sections that the twin
	                                       * copies, rising */
	uint8_t *is_selected;          /* per symbol of the application: does the twin have it? */
	uint32_t *selected, nselected; /* selected[]: indices of these symbols; sorted when all are known */
	Elf64_Sym *symbols;
	uint32_t nsymbols;
	char *strings, *names;
	size_t strings_size, names_size;
	char twin_name[GPUBPF_NAME_SIZE + sizeof(GPUBPF_TWIN_PREFIX)];
	char *renamed[OWN_NAMES]; /* malloc'd: section names that end with the name of the twin instead
	                                       * of the kernel */
	uint32_t nrenamed;
	bool failed;                     /* an allocation of a name failed */
	uint8_t *info, *general, *calls; /* malloc'd: contents of .nv.info.<kernel>, .nv.info and .nv.callgraph
	                                       * of the twin */
	struct sass_texts texts;         /* the application's code sections in the twin */
	Elf64_Rela *relocations, *code_relocations; /* relocations of c[0x4], and of code; sass_twin_make_symbols()
	                                             * replaces the application's symbol indices by the twin's */
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

/* Returns the name in the twin of a section: if it ends with the kernel's name (".text.NAME"), it gets the twin's
 * name instead. */
const char *sass_twin_section_name(struct writer *w, const char *name);
/* Lists in w->copied the sections that the twin copies, and allocates w->sections. Returns 0 or -ENOMEM. */
int sass_twin_find_copied(struct writer *w);
/* Adds all sections to w->sections, in the order that loaders expect. bank: section c[0x3] of the probes. Returns 0;
 * -EINVAL with the reason in w->diag; -ENOMEM. */
int sass_twin_choose_sections(struct writer *w, uint32_t bank);

/* Builds w->symbols and w->strings. Returns 0 or -ENOMEM. */
int sass_twin_make_symbols(struct writer *w, uint32_t bank);
/* Appends a string with its NUL to `to`, which has room for it. Returns its offset. */
size_t sass_twin_add_string(char *to, size_t *size, const char *text);
/* Adds a symbol of the application's cubin to the twin. */
void sass_twin_add_symbol(struct writer *w, uint32_t symbol);

/* Finds the addresses that the kernel reads from c[0x4], and adds them to w->addresses, w->relocations and the
 * bindings of the twin. Returns 1; 0 if there are none; -EINVAL with the reason why a twin cannot have one of them;
 * -ENOMEM. */
int sass_twin_addresses(struct writer *w);
/* Add the addresses in the code of a section of w->texts to w->code_relocations or to the bindings, and the
 * addresses of __constant__ variables in stubs to the bindings. Return 0 or errors like sass_twin_addresses(). */
int sass_twin_addresses_of_code(struct writer *w, uint32_t section);
int sass_twin_addresses_in_stubs(struct writer *w);

/* Build w->general (.nv.info), w->info (.nv.info.<kernel>) and w->calls (.nv.callgraph). section: index of
 * .nv.callgraph of the application. *size: bytes. Return 0; -EINVAL with the reason in w->diag; -ENOMEM. */
int sass_twin_general(struct writer *w, size_t *size);
int sass_twin_info(struct writer *w, size_t *size);
int sass_twin_calls(struct writer *w, uint32_t section, size_t *size);

/* Replaces the application's indices of sections and symbols in the headers by the twin's. */
void sass_twin_fix_heads(struct writer *w);
/* Sets sizes and offsets of the sections, and writes the file to w->twin->cubin. Returns 0 or -ENOMEM. */
int sass_twin_write_file(struct writer *w);

#endif
