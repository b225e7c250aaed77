/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-liners: the subset of bpftrace's language that is meaningful in GPU kernels, compiled to an ordinary eBPF object.
 * gpubpf-lang(7) documents the language. Stages:
 *
 *   lex.c, parse.c  text -> tree            types.c   the object's BTF
 *   check.c         types, maps, places     object.c  instructions and BTF -> ELF
 *   gen*.c          tree -> eBPF            cli/lang/host/host.c    BEGIN, END, interval and records, while a session runs
 *
 * The object is loaded and verified like any other object, so this code is not trusted. The stages up to object.c need
 * no other part of the tool. They do not print; all errors refer to positions in the text.
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
/* maximum number of binary operators in one statement; each may nest one level deeper */
#define LANG_OPERATORS 1000
#define LANG_MAPS 64
#define LANG_VARS 32                   /* scratch variables of a probe */
#define LANG_KEYS 8                    /* elements of a key */
#define LANG_KEY_SIZE 256              /* bytes of a key */
#define LANG_STRING_SIZE 1024          /* bytes of a literal */
#define LANG_ARGS 32                   /* arguments of printf(), and named arguments of a kernel */
#define LANG_PROBES 256
#define LANG_UNROLL 100
#define LANG_INSNS 30000               /* instructions of one probe: jumps reach 32767 */
#define LANG_HIST_BITS 5
#define LANG_SLOTS 1024                /* slots of a histogram */
#define LANG_MAP_KEYS 4096             /* keys of a map without a `let` declaration */
#define LANG_MAX_DECLARED_KEYS (1u << 24)
#define LANG_STACKS 16384              /* different stacks of a program */
#define LANG_FRAMES 127
#define LANG_RING_BYTES (1u << 20)
#define LANG_NAMES_SIZE 4096           /* total bytes of the names of kernel arguments that no probe declares */
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
	LANG_STACK,                    /* the id of a stack, or the error code of helper 27 */
	LANG_NAME,                     /* a string of 64 bytes including its NUL */
	/* a string that the host knows, for example a literal; becomes NAME when stored */
	LANG_TEXT,
	LANG_AGGREGATE,                /* count() and similar */
};

struct lang_type {
	enum lang_base base;
	bool is_signed;
	bool to_signed;                /* for an address: sign of its target */
	uint8_t to;                    /* and bits of its target; 0: unknown */
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
	LANG_WHOLE_BLOCK,              /* the same for blocks in the grid */
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
	LANG_N_BUILTIN,                /* builtin; value: 1 to 3 for .x .y .z, 0 for the whole value */
	LANG_N_VAR,
	LANG_N_MAP,                    /* list: the key */
	LANG_N_UNARY,
	LANG_N_BINARY,
	LANG_N_TERNARY,
	LANG_N_CAST,                   /* value: bits */
	LANG_N_READ,                   /* a[b], or *a, in the application's memory; value: bits */
	LANG_N_SET,                    /* a op= b; op NONE: a = b */
	LANG_N_STEP,                   /* ++ and --; value: 1 for the prefix form */
	LANG_N_CALL,                   /* list: arguments */
	LANG_N_IF,                     /* a, b, c */
	LANG_N_BLOCK,                  /* list */
	LANG_N_UNROLL,                 /* b, repeated `value` times */
	LANG_N_FOR,                    /* var from a to below c, body b; the next variable holds the end */
	LANG_N_BREAK,
	LANG_N_CONTINUE,
	LANG_N_RETURN,
};

struct lang_node {
	enum lang_kind kind;
	uint32_t pos;                  /* position in the text */
	struct lang_type type;
	enum lang_token op;
	bool literal;                  /* a number that takes the sign of the other operand */
	uint64_t value;
	const char *text;              /* a string's bytes, without quotes */
	struct lang_builtin builtin;
	const struct lang_function *function;
	struct lang_map *map;
	struct lang_var *var;
	int action;                    /* number of a call's action */
	struct lang_node *a, *b, *c, *list, *next;
};

struct lang_var {
	struct lang_var *next;
	const char *name;
	struct lang_type type;         /* VOID: not yet known */
	/* bits of a number that `let` declares with a type; 0: the type of the assigned value */
	uint32_t bits;
	uint32_t scope;                /* depth of the declaring block; UINT32_MAX: out of scope */
	int at;                        /* offset on the stack, from r10 */
	uint64_t value;                /* value on the host */
	char text[GPUBPF_CTX_NAME];    /* string on the host */
};

/* The value of a map: a number that is assigned, or an aggregation by a function with use VALUE. */
struct lang_map {
	struct lang_map *next;
	const char *name;              /* "@", "@x" */
	uint32_t pos;                  /* position of the first use */
	bool known, declared;          /* the value's type is known; `let` declared the room */
	const struct lang_function *holds; /* NULL: a number */
	struct lang_type value;
	uint32_t nkeys;
	struct lang_type key[LANG_KEYS];
	const char *key_name[LANG_KEYS];
	bool keys_known;
	uint64_t min, max, step;       /* lhist */
	uint32_t fine;                 /* hist: 1 + its bits, 2^bits slots per power of two */
	uint32_t room;
	bool lru;
	uint32_t key_size, value_size; /* bytes */
	uint32_t index;                /* index in the object */
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
	const char *section;           /* "gpu/exit/name"; on the host "BEGIN", ... */
	uint32_t site;                 /* enum gpubpf_site */
	uint32_t number;               /* index among all probes */
	uint64_t every_ns;             /* period of an interval */
	uint64_t due_ns;
	struct lang_block *block;
};

/* a kernel argument that a probe declares: gpu/entry/vector_add(float *a, uint n) */
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
	bool duration;                 /* the block uses `duration` */
};

/* The first error, in parts. */
struct lang_refusal {
	char what[512], place[256], remedy[256];
};

struct lang {
	const char *name;              /* "-e", or the file name */
	const char *text;
	size_t size;
	const char *const *params;
	uint32_t nparams;
	uint64_t threads;              /* threads with room for durations; a power of two */

	void *arena;                   /* memory of the tree */
	size_t used;                   /* bytes of that memory */
	bool failed;
	struct lang_refusal refusal;
	char why[2048];                /* the same as text, with the quoted source line */
	struct lang_node spare;        /* returned if there is no memory */

	struct lang_block *blocks;
	struct lang_map *maps;
	uint32_t nmaps, nprobes, nactions;
	struct lang_node *action[LANG_ACTIONS];
	const struct lang_probe *probe[LANG_PROBES];
	bool records, zeros, durations; /* the object needs a ring; a value of zeros; entry times */
	bool stacks;                   /* the object needs stacks */
	uint32_t frames;               /* frames of each stack; 0: not specified yet */
	uint32_t zeros_size;

	char names[LANG_NAMES_SIZE];   /* the object's .rodata: consecutive strings, each with its NUL */
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
	uint64_t threads;              /* threads with room for concurrent durations; 0: 1048576 */
};
/*
 * Compile a text to an object. Returns 0 or -ENOMEM. On -EINVAL, *l exists and lang_why() returns the error, its
 * position and the remedy. The strings of opts must stay valid as long as *l. A program with only BEGIN, END and
 * interval has no object: lang_object() returns NULL.
 */
int lang_compile(const struct lang_opts *opts, struct lang **l);
void lang_destroy(struct lang *l);
const char *lang_why(const struct lang *l);
const struct lang_refusal *lang_refusal(const struct lang *l);
const void *lang_object(const struct lang *l, size_t *size);

/* common.c: memory, errors and tables */

/* Record an error, unless there is one already. Returns -EINVAL. */
int lang_fail(struct lang *l, uint32_t pos, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Zeroed memory that lives as long as l. NULL if out of memory; `failed` is then set. */
void *lang_alloc(struct lang *l, size_t size);
void lang_free_memory(struct lang *l);
char *lang_copy(struct lang *l, const char *text, size_t size);
char *lang_format(struct lang *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void lang_line_column(const struct lang *l, uint32_t pos, uint32_t *line, uint32_t *column);
const char *lang_token_text(enum lang_token token);
const struct lang_function *lang_function_find(const char *name);
const struct lang_function *lang_function_at(uint32_t i); /* NULL past the end */

/* lex.c */
struct lang_lex {
	struct lang *l;
	uint32_t at;                   /* position after the token */
	enum lang_token token;
	uint32_t pos, len;             /* position and length of the token */
	uint64_t number;
	const char *string;            /* a decoded string; for words and names: the text */
};
void lang_next(struct lang_lex *x);
/* Skip blanks and comments. */
void lang_skip(struct lang_lex *x);
/* Parse a literal number with its suffixes. Returns the bytes consumed, or 0. */
uint32_t lang_number(const char *text, size_t size, uint64_t *value);

/* parse.c: 0 or -EINVAL */
int lang_parse(struct lang *l);
/* probe.c: parse the probes before a block. x->at is their beginning, and afterwards their end. */
void lang_parse_probes(struct lang_lex *x, struct lang_block *block);
/* expr.c */
struct lang_parser {
	struct lang_lex lex;
	struct lang *l;
	struct lang_block *block;
	bool filter;                   /* in a filter: / before { ends the expression */
	uint32_t depth;
	uint32_t operators;            /* operators of the current statement so far */
};
struct lang_node *lang_expression(struct lang_parser *p);
struct lang_node *lang_node(struct lang_parser *p, enum lang_kind kind, uint32_t pos);
/* Add a variable to the current block. */
struct lang_var *lang_variable(struct lang_parser *p, const char *name, uint32_t pos);
struct lang_map *lang_map_named(struct lang_parser *p, const char *name, uint32_t pos);
bool lang_accept(struct lang_parser *p, enum lang_token token);
void lang_expect(struct lang_parser *p, enum lang_token token, const char *where);
bool lang_word_is(const struct lang_parser *p, const char *word);
void lang_enter_nesting(struct lang_parser *p);
/* Bits and sign of a named type; false: no such type. */
bool lang_type_named(const char *word, uint32_t *bits, bool *is_signed);
/* The same for targets of addresses, which may also be floating point types. */
bool lang_target_named(const char *word, uint32_t *bits, bool *is_signed);
/* builtin.c. Finds the row of a word, including argN. Returns false if the word is unknown. */
bool lang_builtin_find(const char *word, struct lang_builtin *builtin);
/* args.NAME that no probe declares; false: too many names. */
bool lang_builtin_named(struct lang *l, const char *name, struct lang_builtin *builtin);
/* ctx.FIELD and ctx.FIELD[i], by core/model/ctx_fields.def. */
bool lang_field_find(const char *field, uint64_t index, struct lang_builtin *builtin);
/* The name of the field at an offset of the context, if places provide it; else NULL. */
const char *lang_place_field(uint32_t at);
/* Why a word of bpftrace is not supported; NULL: not such a word. */
const char *lang_refused(const char *word, const char **instead);
const char *lang_nearest_word(const char *word, char *buf, size_t size);

/* check.c: 0 or -EINVAL */
int lang_check(struct lang *l);
/*
 * Is a map without keys an array with one element that always exists? A map whose initial value is not 0 is no array:
 * its value must be inserted first.
 */
bool lang_map_is_array(const struct lang_map *map);

/* gen.c, object.c */
int lang_generate(struct lang *l);

/*
 * Size of an action's record: the numbers of the action and of the probe, 4 bytes each, then each argument with
 * lang_size() bytes.
 */
uint32_t lang_record_size(const struct lang_node *call);
/* The first argument in the record; the others follow by `next`. NULL: no arguments. */
struct lang_node *lang_record_args(const struct lang_node *call);
/* Bytes of a value of the type in keys and records. */
uint32_t lang_size(struct lang_type type);

#endif
