/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that check.c and check_call.c share. */
#ifndef GPUBPF_CLI_LANG_CHECK_H
#define GPUBPF_CLI_LANG_CHECK_H

#include "lang.h"

struct check {
	struct lang *l;
	struct lang_block *block;
	bool learning;
	bool device, host;             /* where the block runs */
	uint32_t loops;
};

int check_fail(struct check *c, const struct lang_node *n, const char *remedy, const char *what);
const char *check_base_name(struct lang_type type); /* "a number" */
bool check_is_number(struct lang_type type);
bool check_is_text(struct lang_type type);
struct lang_type check_expr(struct check *c, struct lang_node *n);
/* Check a value of any type. kept: the value is stored, not only printed, so a string needs bytes in the object. */
struct lang_type check_value(struct check *c, struct lang_node *n, bool stored);
/* Does a string of the object fit into a stored string? */
void check_fits(struct check *c, const struct lang_node *n);
void check_key(struct check *c, struct lang_node *n);
void check_no_writes(struct check *c, const struct lang_node *n);
struct lang_type check_call(struct check *c, struct lang_node *n);

#endif
