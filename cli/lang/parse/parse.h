/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of this folder share. */
#ifndef GPUBPF_CLI_LANG_PARSE_PARSE_H
#define GPUBPF_CLI_LANG_PARSE_PARSE_H

#include "cli/lang/lang.h"

/* lex.c */
struct lang_lex {
	struct lang *l;
	uint32_t at; /* position in the text after the current token */
	enum lang_token token;
	uint32_t pos, len; /* position and length of the current token */
	uint64_t number;
	const char *string; /* text of the current token; for a string literal, the decoded text */
	bool parameter;     /* the token is $1, $2, ...; `string` is its text */
	/* [ndefines] the definitions that are being replaced, the innermost last, and the position after each */
	struct lang_replacement {
		const struct lang_define *define;
		uint32_t after;
	} replacement[LANG_DEFINE_DEPTH];
	uint32_t nreplacements;
	uint32_t limit; /* the text ends here; 0: at the end of its file */
};
/* #define NAME text */
struct lang_define {
	struct lang_define *next;
	const char *name;
	uint32_t begin, end; /* positions of the text that replaces the name */
};
bool lang_is_word(char c); /* returns true if names can contain the character */
void lang_next(struct lang_lex *x);
/* Skip white space and comments. */
void lang_skip(struct lang_lex *x);
/* Return the position at which the text, or the text of the current definition, ends. */
uint32_t lang_end(const struct lang_lex *x);
/*
 * Parse a number with its suffix into *value. Returns the number of bytes consumed, or 0 if the text is not a valid
 * number.
 */
uint32_t lang_number(const char *text, size_t size, uint64_t *value);

/*
 * probe.c: parses the probes of a block. x->at must be their first character; afterwards it is the character after the
 * probes.
 */
void lang_parse_probes(struct lang_lex *x, struct lang_block *block);
/* macro.c: macros and functions of the text */
struct lang_frame;
/* expr.c */
struct lang_parser {
	struct lang_lex lex;
	struct lang *l;
	struct lang_block *block;
	bool filter;  /* a filter is parsed: a / before { ends the expression */
	bool defines; /* a type is being defined: a struct that is not defined yet may be defined later */
	uint32_t depth;
	uint32_t operators;                /* number of binary operators so far in the current statement */
	struct lang_condition *conditions; /* the #if lines without their #endif, the innermost first */
	struct lang_frame *frame;          /* the call of a macro or function that is being expanded, or NULL */
};
struct lang_node *lang_expression(struct lang_parser *p);
struct lang_node *lang_node(struct lang_parser *p, enum lang_kind kind, uint32_t pos);
/* Add a variable to the current block. */
struct lang_var *lang_variable(struct lang_parser *p, const char *name, uint32_t pos);
struct lang_map *lang_map_named(struct lang_parser *p, const char *name, uint32_t pos);
/* Parse a comma-separated list of expressions, up to the token `close`, which is not consumed. Store their number. */
struct lang_node *lang_list(struct lang_parser *p, enum lang_token close, uint32_t *n);
/* statement.c: parses { statements; value }, a block expression */
struct lang_node *lang_value_block(struct lang_parser *p);
struct lang_node *lang_statement(struct lang_parser *p);
struct lang_node *lang_block(struct lang_parser *p); /* parses { ... }; the current token is then the } */
void lang_end_scope(struct lang_parser *p); /* ends the scope of the variables that the current block defines */
/* If the text defines a macro or function of this name, expand its call. The current token follows the name. */
struct lang_node *lang_expand(struct lang_parser *p, const char *name, uint32_t pos);
/* If the word, variable or map (with the first character of `name`) is a parameter of the current macro, return it. */
struct lang_node *lang_parameter(struct lang_parser *p, const char *name, uint32_t pos);
/* Parse or skip a declaration before the probes: macro, fn, config or a line with #. Returns false at other text. */
bool lang_declaration(struct lang_parser *p);
/* Return the LANG_N_FN that `return` ends, or NULL if it ends the probe. */
struct lang_node *lang_function_node(const struct lang_parser *p);
bool lang_accept(struct lang_parser *p, enum lang_token token);
void lang_expect(struct lang_parser *p, enum lang_token token, const char *where);
bool lang_word_is(const struct lang_parser *p, const char *word);
void lang_enter_nesting(struct lang_parser *p);
/* Store size and sign of the integer type with this name. Returns false if there is no such type. */
bool lang_type_named(const char *word, uint32_t *bits, bool *is_signed);
/* Like lang_type_named(), but also accepts floating-point types, which only an address may point to. */
bool lang_target_named(const char *word, uint32_t *bits, bool *is_signed);
/* linux.c: parses a probe of the Linux kernel. Returns false if the word is none. */
bool lang_parse_linux(struct lang_lex *x, struct lang_probe *probe, const char *word);

/* Find all definitions of macros and functions in this part of the text, because a call may precede the definition. */
void lang_find_macros(struct lang *l, uint32_t begin, uint32_t end);
/* include.c: continues with the file of #include or import. The text after the directive begins at `after`. */
void lang_include(struct lang_parser *p, const char *name, uint32_t pos, uint32_t after, bool once);
/* Add the constants of a header of C, without other contents. */
void lang_include_header(struct lang_parser *p, const char *name, uint32_t pos);
/* directive.c: parses a line that begins with # */
void lang_directive(struct lang_parser *p);
void lang_end_directives(struct lang_parser *p); /* refuses an #if without its #endif */
/* Skip the definition that begins at the lexer's position. */
void lang_skip_definition(struct lang_parser *p);
/* Parse the name of a type, and store its size in bits if it is an integer. */
void lang_read_type(struct lang_parser *p, struct lang_type *type, uint32_t *bits);
/* field.c: parses the name of a field of the block's tracepoint, as in args.filename */
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
/* what the name of a probe matches */
struct lang_match {
	struct lang_match *next;
	const char *name;                /* a function, or CATEGORY:NAME, or PROVIDER:NAME */
	const char *section, *arguments; /* only for a usdt probe: its section, and the places of its arguments */
};
/*
 * match.c: returns what the glob matches in the file `first`, in the category `first`, or in the Linux kernel. Returns NULL
 * after an error.
 */
struct lang_match *lang_matches(struct lang_lex *x, enum lang_linux_kind kind, const char *word, const char *first,
				const char *pattern);
/* match.c: stores the address of a symbol, as linked, and the bytes of its variable. Returns false if there is none. */
bool lang_symbol_address(const char *path, const char *name, uint64_t *address, uint64_t *bytes);
/* usdt.c: returns the places of a usdt probe. Provider and name may be globs; the provider "" is any. */
struct lang_match *lang_usdt_matches(struct lang_lex *x, const char *binary, const char *provider, const char *name);
/* Return the path of a program or library, as libbpf finds it. */
const char *lang_find_file(struct lang *l, const char *name);
/* linux.c: returns the value of a word that is an expression in probes of the Linux kernel, or NULL */
struct lang_node *lang_linux_value(struct lang_parser *p, const char *word, uint32_t pos);
/* linux.c: returns args.NAME of a kernel function */
struct lang_node *lang_parameter_field(struct lang_parser *p, uint32_t pos);
/* record.c: parses a definition of struct, union, enum or typedef */
void lang_type_definition(struct lang_parser *p);
/* Return the enumerator of the text with this name, or NULL. */
const struct lang_enumerator *lang_enumerator(const struct lang_parser *p, const char *name);
struct lang_node *lang_primary(struct lang_parser *p); /* parses an operand without suffixes */
struct lang_node *lang_unary(struct lang_parser *p);   /* parses an operand with its prefixes and suffixes */

#endif
