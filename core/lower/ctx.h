/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of struct gpubpf_ctx (core/ctx_fields.def): where each lies and what a lowered program reads instead. */
#ifndef GPUBPF_CORE_LOWER_CTX_H
#define GPUBPF_CORE_LOWER_CTX_H

#include <stdbool.h>
#include <stdint.h>

#include "core/places.h"

struct gpubpf_site_desc;

struct ctx_field {
	const char *name;
	uint32_t off, count, size;   /* bytes; count elements of size */
	/* an argument of the kernel; a member of struct gpubpf_env; a constant of the site; the device library's; an
	 * operand of the place, which stands behind struct gpubpf_env; such a one that is lanes as bits */
	enum { ARG, ENV, CONST, DEVICE, PLACE, LANES } source;
};

extern const struct ctx_field ctx_fields[];
extern const uint32_t ctx_nfields;

/* the kernel's argument that element i of an ARG field reads, from 0 */
uint32_t ctx_field_argument(const struct ctx_field *field, uint32_t i);
/*
 * Operands of a place are u64 words behind struct gpubpf_env, in the order of the table, those alone that its kind
 * gives. The word of element i of a PLACE or LANES field; UINT32_MAX: the site's places do not give it. And how many there are.
 */
uint32_t ctx_field_word(const struct ctx_field *field, uint32_t i, enum gpubpf_site site);
uint32_t ctx_words(enum gpubpf_site site);
/* The word that argument i is where places give it instead of the kernel's (GPUBPF_GIVES_CAPTURE); UINT32_MAX: no word; 0 is
 * read then, at such places. */
bool ctx_captures(enum gpubpf_site site);
uint32_t ctx_argument_word(uint32_t i, enum gpubpf_site site);
/* The first word of the PLACE field of that name, which the site's places give. */
uint32_t ctx_word_of(const char *name, enum gpubpf_site site);
/* the value of element i of a CONST field */
uint64_t ctx_field_constant(const struct ctx_field *field, uint32_t i, const struct gpubpf_site_desc *site);

#endif
