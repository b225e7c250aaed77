/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that check.c, check_call.c and check_map.c share. */
#ifndef GPUBPF_CLI_LANG_CHECK_H
#define GPUBPF_CLI_LANG_CHECK_H

#include "lang.h"

struct check {
	struct lang *l;
	struct lang_block *block;
	bool learning;
	bool device, host; /* whether the current block runs on devices, on the host, or both */
	uint32_t loops;
};

int check_fail(struct check *c, const struct lang_node *n, const char *remedy, const char *what);
const char *check_base_name(struct lang_type type); /* a type in words, such as "a number" */
bool check_is_number(struct lang_type type);
bool check_is_text(struct lang_type type);
struct lang_type check_expr(struct check *c, struct lang_node *n);
/* Check a value of any type. stored: the value is stored, not only printed, so a string needs bytes in the object. */
struct lang_type check_value(struct check *c, struct lang_node *n, bool stored);
/* Refuses a string that has more bytes than a stored string may have. */
void check_fits(struct check *c, const struct lang_node *n);
struct lang_type check_number(struct check *c, struct lang_node *n);
void check_no_writes(struct check *c, const struct lang_node *n);
struct lang_type check_call(struct check *c, struct lang_node *n);

/* check_map.c: compares the types of this use's key with those of the map's first use. */
void check_key(struct check *c, struct lang_node *n);
/* Record what the map holds (holds NULL: a number) or, after its first use, refuse if it differs. */
void check_holds(struct check *c, struct lang_node *n, const struct lang_function *holds, struct lang_type value);
struct lang_type check_map_read(struct check *c, struct lang_node *n);
void check_aggregate(struct check *c, struct lang_node *n); /* checks an aggregation such as @x = count() */
void check_map_size(struct lang *l, struct lang_map *map);

#endif
