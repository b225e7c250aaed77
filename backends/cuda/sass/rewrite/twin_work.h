/* SPDX-License-Identifier: Apache-2.0 */
/* Private to twin*.c: the state of a twin that is being written. */
#ifndef GPUBPF_SASS_TWIN_WORK_H
#define GPUBPF_SASS_TWIN_WORK_H

#include <string.h>

#include "backends/cuda/sass/analysis/callees.h"
#include "core/model/diag.h"
#include "core/wire/name.h"
#include "twin.h"

#define OWN_NAMES 32               /* maximum number of sections and symbols with names after a kernel */

/* a section of the twin; `from` is its index in the application's cubin, 0 if it is new or from the probes */
struct out_section {
	Elf64_Shdr head;
	const char *name;
	const void *data;
	uint32_t from;
};

/* the first sections, which the twin makes */
enum { SECTION_NAMES = 1, SECTION_STRINGS, SECTION_SYMBOLS, FIRST_COPIED };

struct writer {
	const struct sass_cubin *app, *probes;
	const struct sass_kernel *kernel;
	const struct sass_code *code;
	const struct sass_patched_code *grafted;
	struct gpubpf_diag *diag;
	struct out_section *sections;
	uint32_t nsections, constants;        /* constants: index of the probes' c[0x3], 0 if there is none */
	uint32_t *section, *symbol;           /* maps indices of the application's cubin to indices of the twin; 0:
	                                       * none */
	uint32_t *kept, nkept;                /* sections of the application's cubin that are copied; rising */
	uint8_t *has;                         /* per symbol: the twin has it */
	uint32_t *wanted, nwanted;            /* these symbols; rising once all are known */
	Elf64_Sym *symbols;
	uint32_t nsymbols;
	char *strings, *names;
	size_t strings_size, names_size;
	char twin_name[GPUBPF_NAME_SIZE + sizeof(GPUBPF_TWIN_PREFIX)];
	char *renamed[OWN_NAMES];             /* names after the twin instead of the kernel; malloc'd */
	uint32_t nrenamed;
	bool failed;                          /* there was no memory for a name */
	uint8_t *info, *general, *calls;      /* contents of .nv.info.<kernel>, .nv.info, .nv.callgraph */
	struct sass_texts texts;              /* the application's code sections in the twin */
	Elf64_Rela *relocations, *of_code;    /* relocations of c[0x4] and of code; at first with symbols of the
	                                       * application's cubin */
	uint32_t nrelocations, nof_code;
	uint32_t text;                        /* the section whose relocations of code are being read */
	uint8_t *addresses;                   /* contents of c[0x4] */
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

/* Section names end with the kernel's name (".text.NAME"). In the twin they end with the twin's. */
const char *sass_twin_section_name(struct writer *w, const char *name);
/* Finds the sections that are copied (w->kept), and allocates w->sections. -ENOMEM. */
int sass_twin_find_copied(struct writer *w);
/* Adds all sections to w->sections, in the order that loaders expect. `bank`: section of the probes' words. -EINVAL and
 * the reason; -ENOMEM. */
int sass_twin_choose_sections(struct writer *w, uint32_t bank);

/* Makes w->symbols and w->strings. -ENOMEM. */
int sass_twin_make_symbols(struct writer *w, uint32_t bank);
/* Appends a text and its NUL to `to`, which has room for it. Returns its offset. */
size_t sass_twin_add_string(char *to, size_t *size, const char *text);
/* Adds a symbol of the application's cubin to the twin. */
void sass_twin_add_symbol(struct writer *w, uint32_t symbol);

/* Reads the addresses that the kernel takes from c[0x4]. They go to w->addresses, w->relocations and the twin's
 * bindings. Returns 1, or 0 if there are none. -EINVAL and the reason why a twin cannot have one; -ENOMEM. */
int sass_twin_addresses(struct writer *w);
/* Then the addresses in the code of a section of w->texts, into w->of_code, and addresses of __constant__ variables in
 * stubs. 0; errors likewise. */
int sass_twin_addresses_of_code(struct writer *w, uint32_t section);
int sass_twin_addresses_in_stubs(struct writer *w);

/* Make the contents of .nv.info (w->general), .nv.info.<kernel> (w->info) and .nv.callgraph (w->calls), with malloc().
 * `section` is the application's .nv.callgraph; *size gets the bytes. -EINVAL and the reason; -ENOMEM. */
int sass_twin_general(struct writer *w, size_t *size);
int sass_twin_info(struct writer *w, size_t *size);
int sass_twin_calls(struct writer *w, uint32_t section, size_t *size);

/* Replaces the application's indices of sections and symbols in the headers by the twin's. */
void sass_twin_fix_heads(struct writer *w);
/* Sets sizes and offsets of the sections, and writes the file to w->twin->cubin. -ENOMEM. */
int sass_twin_write_file(struct writer *w);

#endif
