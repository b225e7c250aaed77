/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of this folder share. */
#ifndef GPUBPF_CLI_LANG_PARSE_PARSE_H
#define GPUBPF_CLI_LANG_PARSE_PARSE_H

#include "cli/lang/lang.h"

/* Find all definitions of macros and functions, because a call may precede the definition. */
void lang_find_macros(struct lang *l);
/* Skip the definition that begins at the lexer's position. */
void lang_skip_definition(struct lang_parser *p);
/* Parse the name of a type, and store its size in bits if it is an integer. */
void lang_read_type(struct lang_parser *p, struct lang_type *type, uint32_t *bits);
/* parses the name of a field of the block's tracepoint, as in args.filename */
struct lang_node *lang_tracepoint_field(struct lang_parser *p, uint32_t pos);
/* parses sizeof() or getopt(); returns NULL for another word */
struct lang_node *lang_constant(struct lang_parser *p, const char *word, uint32_t pos);
/* returns nsecs of another clock: the sum of n and the distance between the clocks when the text is compiled */
struct lang_node *lang_clock(struct lang_parser *p, struct lang_node *n, const char *clock);
/* typename.c: parses the names of types. Returns true if the current token begins one that has several words. */
bool lang_begins_type(struct lang_parser *p);
bool lang_is_tag(const struct lang_parser *p);                  /* struct, union or enum */
const struct lang_ctype *lang_base_type(struct lang_parser *p); /* without asterisks; NULL: void */
const struct lang_ctype *lang_pointers(struct lang_parser *p, const struct lang_ctype *c); /* the asterisks after it */
struct lang_record *lang_record_named(struct lang_parser *p, const char *name);
/* Return the bytes of a type, or refuse one whose size is not known. */
uint32_t lang_ctype_size(struct lang_parser *p, const struct lang_ctype *c, uint32_t pos);
/* usdt.c: returns the section of a usdt probe, and notes the places of its arguments in the probe */
const char *lang_usdt_section(struct lang_lex *x, struct lang_probe *probe, const char *binary, const char *provider,
			      const char *name);
/* linux.c: returns the value of a word that is an expression in probes of the Linux kernel, or NULL */
struct lang_node *lang_linux_value(struct lang_parser *p, const char *word, uint32_t pos);
/* linux.c: returns args.NAME of a kernel function */
struct lang_node *lang_parameter_field(struct lang_parser *p, uint32_t pos);
/* record.c: parses a definition of struct, union, enum or typedef */
void lang_type_definition(struct lang_parser *p);
/* Store the value of an enumerator of the text. */
bool lang_enumerator(struct lang_parser *p, const char *name, uint64_t *value);
struct lang_node *lang_primary(struct lang_parser *p); /* parses an operand without suffixes */
struct lang_node *lang_unary(struct lang_parser *p);   /* parses an operand with its prefixes and suffixes */

#endif
