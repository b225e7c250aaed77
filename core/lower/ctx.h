/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of struct gpubpf_ctx (core/model/ctx_fields.def): their offsets, and the value that a lowered program reads
 * instead.
 */
#ifndef GPUBPF_CORE_LOWER_CTX_H
#define GPUBPF_CORE_LOWER_CTX_H

#include <stdbool.h>
#include <stdint.h>

#include "core/model/places.h"

struct gpubpf_site_desc;

struct ctx_field {
	const char *name;
	uint32_t off, count, size; /* off: byte offset in the context; count elements of size bytes each */
	/*
	 * Where the value comes from. ARG: a kernel argument. ENV: a member of struct gpubpf_env. CONST: a constant of
	 * the site. DEVICE: a function of the device library. PLACE: an operand of the place, a word after struct
	 * gpubpf_env. LANES: like PLACE, a lane mask.
	 */
	enum { ARG, ENV, CONST, DEVICE, PLACE, LANES } source;
};

extern const struct ctx_field ctx_fields[];
extern const uint32_t ctx_nfields;

/* Returns the index, from 0, of the kernel argument that element i of an ARG field reads. */
uint32_t ctx_field_argument(const struct ctx_field *field, uint32_t i);
/*
 * The operands of a place are u64 words after struct gpubpf_env, in the order of the table. Only operands that the
 * place's kind provides have words. ctx_field_word() returns the word of element i of a PLACE or LANES field,
 * UINT32_MAX if the site's places do not provide it. ctx_words() returns the number of words.
 */
uint32_t ctx_field_word(const struct ctx_field *field, uint32_t i, enum gpubpf_site site);
uint32_t ctx_words(enum gpubpf_site site);
/*
 * ctx_captures(): do the site's places supply arguments instead of the kernel's (GPUBPF_GIVES_CAPTURE)?
 * ctx_argument_word() returns the word of argument i; UINT32_MAX: no word, and the argument reads as 0 at such places.
 */
bool ctx_captures(enum gpubpf_site site);
uint32_t ctx_argument_word(uint32_t i, enum gpubpf_site site);
/* Returns the first word of the PLACE field of that name. The site's places must provide the field. */
uint32_t ctx_word_of(const char *name, enum gpubpf_site site);
/* Returns the value of element i of a CONST field. */
uint64_t ctx_field_constant(const struct ctx_field *field, uint32_t i, const struct gpubpf_site_desc *site);

#endif
