/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the fields of struct gpubpf_ctx (core/model/ctx_fields.def): their offsets, and where a lowered program reads
 * their values instead.
 */
#ifndef GPUBPF_CORE_LOWER_CTX_H
#define GPUBPF_CORE_LOWER_CTX_H

#include <stdbool.h>
#include <stdint.h>

#include "core/model/places.h"

struct gpubpf_site_desc;

struct ctx_field {
	const char *name;
	/* off: byte offset of the field in the context. The field has `count` elements of `size` bytes. */
	uint32_t off, count, size;
	/*
	 * Source of the value. ARG: an argument of the GPU kernel. ENV: a member of struct gpubpf_env. CONST: a
	 * constant of the site. DEVICE: a function of the device library. PLACE: an operand of the place, which is a
	 * word after struct gpubpf_env. LANES: the same as PLACE, for an operand that is a lane mask.
	 */
	enum { ARG, ENV, CONST, DEVICE, PLACE, LANES } source;
};

extern const struct ctx_field ctx_fields[];
extern const uint32_t ctx_nfields;

/* Returns the index of the kernel argument that element i of an ARG field reads. */
uint32_t ctx_field_argument(const struct ctx_field *field, uint32_t i);
/*
 * The operands of a place are u64 words after struct gpubpf_env, in the order of the table. Only operands that the
 * place's kind provides have words. The function ctx_field_word() returns the word of element i of a PLACE or LANES
 * field, or UINT32_MAX if places of this kind lack the field. The function ctx_words() returns the number of words.
 */
uint32_t ctx_field_word(const struct ctx_field *field, uint32_t i, enum gpubpf_site site);
uint32_t ctx_words(enum gpubpf_site site);
/*
 * The function ctx_captures() returns true if, at the site's places, argument fields read captured operands and not the
 * kernel's arguments (GPUBPF_GIVES_CAPTURE). The function ctx_argument_word() returns the word of argument i, or
 * UINT32_MAX if it has no word. Such an argument reads as 0 at these places.
 */
bool ctx_captures(enum gpubpf_site site);
uint32_t ctx_argument_word(uint32_t i, enum gpubpf_site site);
/* Returns the first word of the PLACE field `name`, which the site's places must provide. */
uint32_t ctx_word_of(const char *name, enum gpubpf_site site);
/* Returns the value of element i of a CONST field. */
uint64_t ctx_field_constant(const struct ctx_field *field, uint32_t i, const struct gpubpf_site_desc *site);

#endif
