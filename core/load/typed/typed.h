/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between the code that walks over a typed value (typed.c) and its writers (write.c). */
#ifndef GPUBPF_LOAD_TYPED_H
#define GPUBPF_LOAD_TYPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUBPF_TYPED_DEPTH 16 /* maximum nesting depth of values */

struct btf;
struct gpubpf_hist_shape;
struct gpubpf_typed_names;
struct gpubpf_typed_param;
struct json_object;
struct typed_writer;

/* The operations of a writer. `name` is the member's name, or "" in arrays and for the whole value. */
struct typed_ops {
	void (*open)(struct typed_writer *w, const char *name, bool array);
	void (*close)(struct typed_writer *w);
	void (*integer)(struct typed_writer *w, const char *name, uint64_t v, bool is_signed);
	void (*boolean)(struct typed_writer *w, const char *name, bool v);
	void (*real)(struct typed_writer *w, const char *name, double v);
	void (*string)(struct typed_writer *w, const char *name, const char *s, size_t len);
	/* writes text that needs no quotes: an enumerator, an address, hex bytes */
	void (*word)(struct typed_writer *w, const char *name, const char *s);
	void (*duration)(struct typed_writer *w, const char *name, uint64_t ns);
	/* Writes a histogram, from the values of its slots. */
	void (*hist)(struct typed_writer *w, const char *name, const struct gpubpf_hist_shape *shape, const uint64_t *slot);
	/*
	 * Writes a struct gpubpf_args with n values. params has the GPU kernel's parameters, or is NULL if they are
	 * unknown.
	 */
	void (*args)(struct typed_writer *w, const char *name, const char *kernel,
		     const struct gpubpf_typed_param *params, const uint64_t *value, uint32_t n);
	/*
	 * Writes that n more elements of the array are zero; the first zero element is already written. NULL: each
	 * element is written separately.
	 */
	void (*repeats)(struct typed_writer *w, uint32_t n);
	/* Writes the name in a struct gpubpf_name. NULL: the struct is written with its members. */
	void (*bare)(struct typed_writer *w, const char *name, const char *s);
};

struct typed_writer {
	const struct typed_ops *ops;
	const struct btf *btf;
	const struct gpubpf_typed_names *names;
	const uint8_t *data;
	size_t size; /* number of bytes in data */
	uint32_t scalars;
	bool bad; /* the bytes do not fit the type */
	/* state of the text writer */
	char *buf;
	size_t room, at;
	bool first;
	/* state of the JSON writer */
	struct json_object *stack[GPUBPF_TYPED_DEPTH + 2];
	int depth;
};

/* args.c */
void typed_args_text(struct typed_writer *w, const char *name, const char *kernel,
		     const struct gpubpf_typed_param *params, const uint64_t *value, uint32_t n);
void typed_args_json(struct typed_writer *w, const char *name, const char *kernel,
		     const struct gpubpf_typed_param *params, const uint64_t *value, uint32_t n);

extern const struct typed_ops gpubpf_typed_text_ops, gpubpf_typed_json_ops;

#endif
