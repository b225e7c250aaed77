/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between the files that parse words as typed values (read.c). */
#ifndef GPUBPF_LOAD_TYPED_READ_H
#define GPUBPF_LOAD_TYPED_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct btf;
struct btf_type;
struct gpubpf_typed_lookup;

struct reading {
	const struct btf *btf;
	const struct gpubpf_typed_lookup *names; /* NULL: no name of a kernel is known */
	uint8_t *data;
	size_t size;
	char *why;
	size_t why_size;
	uint32_t looked; /* number of members visited while one member is looked up */
};

/* The part of the value to which a path leads: its type and position. */
struct spot {
	uint32_t type;
	uint64_t bit;
	uint32_t bits; /* number of bits of a bit field, else 0 */
};

/* read_scalar.c. Functions that return int return 0, or -EINVAL with the reason in r->why. */
__attribute__((format(printf, 2, 3))) int typed_refuse(struct reading *r, const char *fmt, ...);
const struct btf_type *typed_real_type(const struct reading *r, uint32_t type);
int typed_put_bits(struct reading *r, uint64_t bit, uint32_t bits, uint64_t v);
bool typed_is_char(const struct reading *r, uint32_t type);
/* Returns true if values of the type are text: an array of char, or a struct gpubpf_name. */
bool typed_is_text(const struct reading *r, uint32_t type);
int typed_read_scalar(struct reading *r, const struct spot *at, const char *word);
/*
 * Stores `size` bytes that the text has in base 16, separated by blanks. Returns false if the text has another form; then
 * some of `bytes` may have changed.
 */
bool typed_read_hex(const char *text, size_t size, uint8_t *bytes);

/* read_path.c: advance *path and *spot by one step, .NAME or [INDEX] */
int typed_step_member(struct reading *r, const char **path, struct spot *spot);
int typed_step_element(struct reading *r, const char **path, struct spot *spot);
/* Find member n of the struct at *at. Members of anonymous members count as members of the struct. */
bool typed_nth_member(struct reading *r, const struct spot *at, uint32_t n, struct spot *member);

/* read_whole.c: returns true if the word is a struct or an array in brackets */
bool typed_is_whole(const char *word);
/* Parses one word: a scalar, text in quotes, or a struct or array in brackets. */
int typed_read_word(struct reading *r, const struct spot *at, const char *word);
/* Parses a struct, an array or global data in brackets. */
int typed_read_whole(struct reading *r, const struct spot *at, const char *word);

#endif
