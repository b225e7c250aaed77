/* SPDX-License-Identifier: Apache-2.0 */
/* Private to twin*.c: a twin that is being written. */
#ifndef GPUBPF_SASS_TWIN_WORK_H
#define GPUBPF_SASS_TWIN_WORK_H

#include <string.h>

#include "callees.h"
#include "core/diag.h"
#include "core/wire/name.h"
#include "twin.h"

#define OWN_NAMES 32               /* sections and symbols that are called after a kernel */

/* a section of the twin; `from` is its index in the application's cubin, 0: of the probes' or made here */
struct out_section {
	Elf64_Shdr head;
	const char *name;
	const void *data;
	uint32_t from;
};

struct writer {
	const struct sass_cubin *app, *probes;
	const struct sass_kernel *kernel;
	const struct sass_code *code;
	const struct sass_grafted *grafted;
	struct gpubpf_diag *diag;
	struct out_section *sections;
	uint32_t nsections, constants;        /* constants: the probes' c[0x3]; 0: none */
	uint32_t *section, *symbol;           /* of an index of the application's cubin, that in the twin; 0: none */
	uint32_t *kept, nkept;                /* sections of the application's cubin that are taken as they are; rising */
	uint8_t *has;                         /* of a symbol: the twin has it */
	uint32_t *wanted, nwanted;            /* and which these are; rising, once all are known */
	Elf64_Sym *symbols;
	uint32_t nsymbols;
	char *strings, *names;
	size_t strings_size, names_size;
	char twin_name[GPUBPF_NAME_SIZE + sizeof(GPUBPF_TWIN_PREFIX)];
	char *renamed[OWN_NAMES];             /* what is called after the kernel, after the twin; malloc'd */
	uint32_t nrenamed;
	bool failed;                          /* no memory for one */
	uint8_t *info, *general, *calls;      /* .nv.info.<kernel>, .nv.info, .nv.callgraph */
	struct sass_texts texts;              /* the application's sections of code that it has */
	Elf64_Rela *relocations, *of_code;    /* of c[0x4], of code; symbols of the application's cubin at first */
	uint32_t nrelocations, nof_code;
	uint32_t text;                        /* while those of code are taken: of which section */
	uint8_t *addresses;                   /* c[0x4] */
	struct sass_twin *twin;
};

#define refuse(w, ...) gpubpf_diag_refuse((w)->diag, INJECT, __VA_ARGS__)

static inline bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

/* For qsort(): of two uint32_t. */
int sass_by_number(const void *a, const void *b);
/* The twin has that symbol of the application's. */
void sass_twin_want(struct writer *w, uint32_t symbol);

/* Addresses that the kernel reads in c[0x4]: at w->addresses, as the twin has them, at w->relocations and among its bindings. 1; 0: there
 * are none; -EINVAL and the reason for which it cannot have one; -ENOMEM. */
int sass_twin_addresses(struct writer *w);
/* Behind that, those in the code of a section of w->texts, at w->of_code; those of __constant__ variables in stubs. 0; likewise. */
int sass_twin_addresses_of_code(struct writer *w, uint32_t section);
int sass_twin_addresses_in_stubs(struct writer *w);

/* What the twin says of itself, malloc'd into w->general (.nv.info), w->info (that of the kernel) and w->calls
 * (.nv.callgraph, of that section of the application's); *size: bytes. -EINVAL and the reason; -ENOMEM. */
int sass_twin_general(struct writer *w, size_t *size);
int sass_twin_info(struct writer *w, size_t *size);
int sass_twin_calls(struct writer *w, uint32_t section, size_t *size);

#endif
