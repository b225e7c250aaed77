/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-liners: bpftrace's language, as far as it means something in a GPU's kernel, made into an ordinary eBPF object.
 * gpubpf-lang(7) has the language. The way of a text:
 *
 *   lex.c, parse.c  text -> tree            types.c   the object's BTF
 *   check.c         types, maps, places     object.c  instructions and BTF -> ELF
 *   gen*.c          tree -> eBPF            host.c    BEGIN, END, interval and records, while a session runs
 *
 * What is made is loaded and verified as any other object is: nothing here is trusted. The library of the rest of the
 * tool is not needed up to object.c; nothing prints, all errors point into the text.
 */
#ifndef GPUBPF_CLI_LANG_LANG_H
#define GPUBPF_CLI_LANG_LANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gpubpf/ctx.h"

#define LANG_TEXT_SIZE (1u << 20)      /* bytes of a program's text */
#define LANG_DEPTH 64                  /* nesting of expressions and blocks */
#define LANG_OPERATORS 1000            /* with two operands, of a statement: each may be one deeper than the last */
#define LANG_MAPS 64
#define LANG_VARS 32                   /* scratch variables of a probe */
#define LANG_KEYS 8                    /* elements of a key */
#define LANG_KEY_SIZE 256              /* bytes of a key */
#define LANG_STRING_SIZE 1024          /* bytes of a literal */
#define LANG_ARGS 32                   /* that a printf() prints, and kernels' arguments that have a name */
#define LANG_PROBES 256
#define LANG_UNROLL 100
#define LANG_INSNS 30000               /* of one probe: jumps reach 32767 */
#define LANG_HIST_BITS 5
#define LANG_SLOTS 1024                /* of a histogram */
#define LANG_MAP_KEYS 4096             /* of a map, if `let` does not say otherwise */
#define LANG_MOST_KEYS (1u << 24)
#define LANG_STACKS 16384              /* different ones of a program */
#define LANG_FRAMES 127
#define LANG_RING_BYTES (1u << 20)
#define LANG_NAMES_SIZE 4096           /* of kernels' arguments that no probe declares: bytes of their names */
#define LANG_ACTIONS 1024              /* calls of printf(), print(), ... */

enum lang_token {
	LANG_T_NONE,
	LANG_T_END,
	LANG_T_NUMBER,
	LANG_T_STRING,
	LANG_T_WORD,
	LANG_T_VAR,                    /* $x */
	LANG_T_MAP,                    /* @x */
#define LANG_TOKEN(name, text, precedence, assigns) LANG_T_##name,
#include "tokens.def"
	LANG_TOKENS,
};

enum lang_base {
	LANG_VOID,
	LANG_INT,
	LANG_KERNEL,                   /* a kernel's id */
	LANG_ADDRESS,
	LANG_STACK,                    /* the id of one, or the error that there is none */
	LANG_NAME,                     /* a string of 64 bytes with its NUL */
	LANG_TEXT,                     /* one that the host knows, as a literal is; NAME where it is kept */
	LANG_AGGREGATE,                /* count() and its like */
};

struct lang_type {
	enum lang_base base;
	bool is_signed;
	bool to_signed;                /* of an address: what it leads to, */
	uint8_t to;                    /* and the bits of that; 0: not known */
};

enum lang_source {
	LANG_SOURCE_CTX,
	LANG_SOURCE_TRIPLE,
	LANG_SOURCE_HELPER,
	LANG_SOURCE_STACK,
	LANG_SOURCE_NAMED,
	LANG_SOURCE_DURATION,
	LANG_SOURCE_PROBE,
	LANG_SOURCE_HOST,
};

enum lang_whole {
	LANG_WHOLE_THREAD,             /* x + (y + z * height) * width, in a block */
	LANG_WHOLE_BLOCK,              /* the same of blocks in the grid */
	LANG_WHOLE_GLOBAL,             /* ctx->global_linear */
	LANG_WHOLE_PRODUCT,            /* x * y * z */
};

struct lang_builtin {
	const char *name;
	enum lang_base base;
	enum lang_source source;
	uint32_t at, size;
};

enum lang_use {
	LANG_USE_VALUE,
	LANG_USE_ACTION,
	LANG_USE_CODE,
	LANG_USE_HOST,
};

enum lang_function_id {
#define LANG_FUNCTION(NAME, name, least, most, use, shown, meaning) LANG_F_##NAME,
#include "functions.def"
	LANG_FUNCTIONS,
};

struct lang_function {
	enum lang_function_id id;
	const char *name, *shown;
	uint32_t least, most;
	enum lang_use use;
};

enum lang_kind {
	LANG_N_NUMBER,
	LANG_N_STRING,
	LANG_N_BUILTIN,                /* builtin; value: 1 to 3 for .x .y .z, 0 the whole */
	LANG_N_VAR,
	LANG_N_MAP,                    /* list: the key */
	LANG_N_UNARY,
	LANG_N_BINARY,
	LANG_N_TERNARY,
	LANG_N_CAST,                   /* value: bits */
	LANG_N_READ,                   /* a[b], or *a: of the application's memory; value: bits */
	LANG_N_SET,                    /* a op= b; op NONE: a = b */
	LANG_N_STEP,                   /* ++ and --; value: 1 in front */
	LANG_N_CALL,                   /* list: arguments */
	LANG_N_IF,                     /* a, b, c */
	LANG_N_BLOCK,                  /* list */
	LANG_N_UNROLL,                 /* value times b */
	LANG_N_FOR,                    /* var from a to below c, b; the variable behind it is the end */
	LANG_N_BREAK,
	LANG_N_CONTINUE,
	LANG_N_RETURN,
};

struct lang_node {
	enum lang_kind kind;
	uint32_t pos;                  /* in the text */
	struct lang_type type;
	enum lang_token op;
	bool literal;                  /* a number that takes the sign of what it meets */
	uint64_t value;
	const char *text;              /* of a string: its bytes, without the quotes */
	struct lang_builtin builtin;
	const struct lang_function *function;
	struct lang_map *map;
	struct lang_var *var;
	int action;                    /* of a call: its number */
	struct lang_node *a, *b, *c, *list, *next;
};

struct lang_var {
	struct lang_var *next;
	const char *name;
	struct lang_type type;         /* VOID: not known yet */
	uint32_t bits;                 /* of a number whose type `let` declares; 0: it takes that of what it is set to */
	uint32_t scope;                /* depth of the block that has it; gone: UINT32_MAX */
	int at;                        /* on the stack, from r10 */
	uint64_t value;                /* on the host */
	char text[GPUBPF_CTX_NAME];    /* likewise */
};

/* What a map holds: a number that is set, or what a function of use VALUE makes. */
struct lang_map {
	struct lang_map *next;
	const char *name;              /* "@", "@x" */
	uint32_t pos;                  /* of the first use */
	bool known, declared;          /* a use has told what it holds; `let` has told its room */
	const struct lang_function *holds; /* NULL: a number */
	struct lang_type value;
	uint32_t nkeys;
	struct lang_type key[LANG_KEYS];
	const char *key_name[LANG_KEYS];
	bool keys_known;
	uint64_t min, max, step;       /* lhist */
	uint32_t fine;                 /* hist: 1 + its bits, 2^bits slots a power of two */
	uint32_t room;
	bool lru;
	uint32_t key_size, value_size; /* bytes */
	uint32_t index;                /* in the object */
};

enum lang_when {
	LANG_ON_DEVICE,
	LANG_BEGIN,
	LANG_END,
	LANG_INTERVAL,
};

struct lang_probe {
	struct lang_probe *next;
	enum lang_when when;
	uint32_t pos;
	const char *section;           /* "gpu/exit/name"; of the host "BEGIN", ... */
	uint32_t site;                 /* enum gpubpf_site */
	uint32_t number;               /* of all probes, from 0 */
	uint64_t every_ns;             /* interval */
	uint64_t due_ns;
	struct lang_block *block;
};

/* a kernel's argument that a probe names: gpu/entry/vector_add(float *a, uint n) */
struct lang_arg {
	const char *name;
	struct lang_type type;
	uint32_t bits;
};

struct lang_block {
	struct lang_block *next;
	struct lang_probe *probes;
	struct lang_arg args[LANG_ARGS];
	uint32_t nargs;
	struct lang_node *filter, *body;
	struct lang_var *vars;
	uint32_t nvars;
	bool duration;                 /* uses it */
};

/* The first error, in parts. */
struct lang_refusal {
	char what[512], place[256], remedy[256];
};

struct lang {
	const char *name;              /* "-e", or the file */
	const char *text;
	size_t size;
	const char *const *params;
	uint32_t nparams;
	uint64_t threads;              /* room for durations; a power of two */

	void *arena;                   /* all that the tree is made of */
	size_t used;                   /* bytes of it */
	bool failed;
	struct lang_refusal refusal;
	char why[2048];                /* the same as text, with the line that it points into */
	struct lang_node spare;        /* where there was no memory */

	struct lang_block *blocks;
	struct lang_map *maps;
	uint32_t nmaps, nprobes, nactions;
	struct lang_node *action[LANG_ACTIONS];
	const struct lang_probe *probe[LANG_PROBES];
	bool records, zeros, durations; /* the object has a ring; a value of zeros; places for times of entry; */
	bool stacks;                   /* and stacks */
	uint32_t frames;               /* functions of each, 0: nobody has said */
	uint32_t zeros_size;

	char names[LANG_NAMES_SIZE];   /* the object's .rodata: one behind the other, each with its NUL */
	uint32_t names_size;

	void *object;
	size_t object_size;
};

/* lang.c */
struct lang_opts {
	const char *name, *text;
	size_t size;
	const char *const *params;     /* $1, $2, ... */
	uint32_t nparams;
	uint64_t threads;              /* that durations have room for at once; 0: 1048576 */
};
/* Text to tree to object. 0; -EINVAL with *l made and lang_why() saying what is wrong, where, and what to do; -ENOMEM.
 * Strings of opts stay the caller's, as long as *l lives. An object with BEGIN, END and interval alone has no program,
 * and lang_object() is NULL. */
int lang_compile(const struct lang_opts *opts, struct lang **l);
void lang_destroy(struct lang *l);
const char *lang_why(const struct lang *l);
const struct lang_refusal *lang_refusal(const struct lang *l);
const void *lang_object(const struct lang *l, size_t *size);

/* The first error stays. -EINVAL. */
int lang_fail(struct lang *l, uint32_t pos, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Cleared memory that lives as long as l; NULL and failed without memory. */
void *lang_alloc(struct lang *l, size_t size);
char *lang_copy(struct lang *l, const char *text, size_t size);
char *lang_format(struct lang *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void lang_place(const struct lang *l, uint32_t pos, uint32_t *line, uint32_t *column);
const char *lang_token_text(enum lang_token token);
const struct lang_function *lang_function_find(const char *name);
const struct lang_function *lang_function_at(uint32_t i); /* NULL past the end */

/* lex.c */
struct lang_lex {
	struct lang *l;
	uint32_t at;                   /* behind the token */
	enum lang_token token;
	uint32_t pos, len;             /* of it */
	uint64_t number;
	const char *string;            /* decoded; of words and names: the text */
};
void lang_next(struct lang_lex *x);
/* Blanks and comments, up to the next thing. */
void lang_skip(struct lang_lex *x);
/* A number as a literal has it, duration suffixes and all: bytes taken, 0: none. */
uint32_t lang_number(const char *text, size_t size, uint64_t *value);

/* parse.c: 0 or -EINVAL */
int lang_parse(struct lang *l);
/* probe.c: the probes in front of a block; x->at is where they begin, and then behind them. */
void lang_parse_probes(struct lang_lex *x, struct lang_block *block);
/* expr.c */
struct lang_parser {
	struct lang_lex lex;
	struct lang *l;
	struct lang_block *block;
	bool filter;                   /* a / in front of { ends it */
	uint32_t depth;
	uint32_t operators;            /* of the statement, as far as it is read */
};
struct lang_node *lang_expression(struct lang_parser *p);
struct lang_node *lang_node(struct lang_parser *p, enum lang_kind kind, uint32_t pos);
/* A new variable of the block that is read. */
struct lang_var *lang_variable(struct lang_parser *p, const char *name, uint32_t pos);
struct lang_map *lang_map_named(struct lang_parser *p, const char *name, uint32_t pos);
bool lang_accept(struct lang_parser *p, enum lang_token token);
void lang_expect(struct lang_parser *p, enum lang_token token, const char *where);
bool lang_word_is(const struct lang_parser *p, const char *word);
void lang_deeper(struct lang_parser *p);
/* A type's name: bits and sign; false: it is none. */
bool lang_type_named(const char *word, uint32_t *bits, bool *is_signed);
/* The same of what addresses lead to, fractions too. */
bool lang_target_named(const char *word, uint32_t *bits, bool *is_signed);
/* builtin.c: the row of a word, argN included; false: it is none. */
bool lang_builtin_find(const char *word, struct lang_builtin *builtin);
/* args.NAME that no probe declares; false: there are too many names. */
bool lang_builtin_named(struct lang *l, const char *name, struct lang_builtin *builtin);
/* ctx.FIELD and ctx.FIELD[i], by core/ctx_fields.def. */
bool lang_field_find(const char *field, uint64_t index, struct lang_builtin *builtin);
/* The name of the field at that place of the context, if it is one that places give; NULL: it is not. */
const char *lang_place_field(uint32_t at);
/* Why a word of bpftrace is none of ours; NULL: it is no such word. */
const char *lang_refused(const char *word, const char **instead);
const char *lang_nearest_word(const char *word, char *buf, size_t size);

/* check.c: 0 or -EINVAL */
int lang_check(struct lang *l);
/* Does a map without keys have one element that is always there? What has no zero to begin with is put in first. */
bool lang_map_is_array(const struct lang_map *map);

/* gen.c, object.c */
int lang_generate(struct lang *l);

/* The record of an action: its number and the probe's, 4 bytes each, then each argument, as lang_size() has it. */
uint32_t lang_record_size(const struct lang_node *call);
/* The first of the arguments that are in it, each leading to the next; NULL: there are none. */
struct lang_node *lang_record_args(const struct lang_node *call);
/* How many bytes a value of the type has in keys and records. */
uint32_t lang_size(struct lang_type type);

#endif
