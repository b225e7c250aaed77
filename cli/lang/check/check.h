/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of this folder share. */
#ifndef GPUBPF_CLI_LANG_CHECK_H
#define GPUBPF_CLI_LANG_CHECK_H

#include "cli/lang/lang.h"

struct check {
	struct lang *l;
	struct lang_block *block;
	bool learning;
	bool guesses;      /* the last learning pass: a map of unknown type holds numbers */
	bool device, host; /* the current block runs on devices, on the host, or on both */
	uint32_t loops;
	uint64_t steps; /* number of iterations of the enclosing loops that are compiled as jumps */
	/* number of enclosing loops that are compiled as functions, and of such loops nested in the last statement */
	uint32_t outer, inner;
	bool inside;             /* in a block on the host whose value is used */
	uint32_t height, visits; /* nesting depth of the current expression, and number of expressions checked */
};

int check_fail(struct check *c, const struct lang_node *n, const char *remedy, const char *what);
const char *check_base_name(struct lang_type type); /* returns a type's name for messages, such as "a number" */
bool check_is_number(struct lang_type type);
bool check_is_text(struct lang_type type);
/* type.c: returns true if the two types have the same kind and size */
bool check_same_kind(struct lang_type a, struct lang_type b);
/* Returns true if a value of type `from` can be stored where values have the type `to`. */
bool check_fits_type(struct lang_type to, struct lang_type from);
/* Return the shape of a tuple with these elements. Never NULL, unless memory is exhausted. */
const struct lang_shape *check_shape(struct check *c, const struct lang_node *elements, uint32_t pos);
/* Return the type of an element of a map in a loop: the tuple of its key and its value. */
struct lang_type check_pair(struct check *c, const struct lang_map *map, uint32_t pos);
struct lang_type check_builtin(struct check *c, struct lang_node *n); /* word.c: checks a word, such as arg0 */
struct lang_type check_part(struct check *c, struct lang_node *n);    /* checks an element of a tuple, such as $t.0 */
struct lang_type check_expr(struct check *c, struct lang_node *n);
/* member.c: reads of the application's memory, such as *(uint32 *)arg0, ((uint32 *)arg0)[tid] and $p->a */
struct lang_type check_read(struct check *c, struct lang_node *n);
struct lang_type check_member(struct check *c, struct lang_node *n);
struct lang_type check_place_of(struct check *c, struct lang_node *n); /* &$p->a */
struct lang_type check_size_of(struct check *c, struct lang_node *n);  /* sizeof(expression) */
/* Make $p + 1 the address of $p[1], if $p is a pointer. */
bool check_moves_pointer(struct check *c, struct lang_node *n);
/* A value of type `type` is needed. Make an array of characters a string, and refuse other arrays and structs. */
struct lang_type check_array_value(struct check *c, struct lang_node *n, struct lang_type type);
/* Check the value of a variable, which may also be a struct: the variable then has its address. */
struct lang_type check_struct_or_value(struct check *c, struct lang_node *n);
/*
 * Check a value of any type. With `stored`, the program stores the value instead of only printing it, so a string needs
 * bytes in the object.
 */
struct lang_type check_value(struct check *c, struct lang_node *n, bool stored);
/* Refuse a string literal that is too long to be stored. */
void check_fits(struct check *c, const struct lang_node *n);
struct lang_type check_number(struct check *c, struct lang_node *n);
/* format.c: checks the format and the arguments of printf(), warnf() and errorf() */
void check_format(struct check *c, struct lang_node *n);
struct lang_type check_strftime(struct check *c, struct lang_node *n);
struct lang_type check_call(struct check *c, struct lang_node *n);

/* map.c: checks that this key has the same types as the key at the map's first use. */
void check_key(struct check *c, struct lang_node *n);
/*
 * At the map's first use, record what the map holds: the value of function `holds`, or a number if `holds` is NULL. At
 * later uses, refuse a different content.
 */
void check_holds(struct check *c, struct lang_node *n, const struct lang_function *holds, struct lang_type value);
struct lang_type check_map_read(struct check *c, struct lang_node *n);
/* series.c: turns @t = tseries(...), an assignment, into one of another function, or of a number */
void check_series(struct check *c, struct lang_node *n);
void check_aggregate(struct check *c, struct lang_node *n); /* checks an aggregation such as @x = count() */
void check_map_size(struct lang *l, struct lang_map *map);

#endif
