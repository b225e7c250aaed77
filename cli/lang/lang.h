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

#define LANG_TEXT_SIZE (1u << 20)      /* maximum bytes of a program's text */
#define LANG_DEPTH 64                  /* maximum nesting of expressions and blocks */
/* maximum binary operators in one statement; each may nest one level deeper */
#define LANG_OPERATORS 1000
#define LANG_MAPS 64
#define LANG_VARS 32                   /* maximum scratch variables of a probe */
#define LANG_KEYS 8                    /* maximum elements of a key */
#define LANG_KEY_SIZE 256              /* maximum bytes of a key */
#define LANG_STRING_SIZE 1024          /* maximum bytes of a string literal */
#define LANG_ARGS 32                   /* maximum arguments of printf(), and maximum named arguments of a kernel */
#define LANG_PROBES 256
#define LANG_UNROLL 100
#define LANG_INSNS 30000               /* maximum instructions of one probe; a jump reaches 32767 */
#define LANG_HIST_BITS 5
#define LANG_SLOTS 1024                /* maximum slots of a histogram */
#define LANG_MAP_KEYS 4096             /* maximum keys of a map without a `let` declaration */
#define LANG_MAX_DECLARED_KEYS (1u << 24)
#define LANG_STACKS 16384              /* maximum different stacks of a program */
#define LANG_FRAMES 127
#define LANG_RING_BYTES (1u << 20)
#define LANG_NAMES_SIZE 4096           /* maximum total bytes of the names of kernel arguments that no probe declares */
#define LANG_ACTIONS 1024              /* maximum calls of printf(), print(), ... in a text */

enum lang_token {
	LANG_T_NONE,
	LANG_T_END,
	LANG_T_NUMBER,
	LANG_T_STRING,
	LANG_T_WORD,
	LANG_T_VAR, /* $x */
	LANG_T_MAP, /* @x */
#define LANG_TOKEN(name, text, precedence, assigns) LANG_T_##name,
#include "tokens.def"
	LANG_TOKENS,
};

enum lang_base {
	LANG_VOID,
	LANG_INT,
	LANG_KERNEL, /* a kernel's id */
	LANG_ADDRESS,
	LANG_STACK, /* the id of a stack, or the error code of helper 27 */
	LANG_NAME,  /* a string of 64 bytes with its NUL */
	/* a string that the host knows, for example a literal; it becomes a NAME when stored */
	LANG_TEXT,
	LANG_AGGREGATE, /* the value of count() and similar functions */
};

struct lang_type {
	enum lang_base base;
	bool is_signed;
	bool to_signed; /* an address: the number at it is signed */
	uint8_t to;     /* an address: the number of bits at it; 0: unknown */
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
	LANG_WHOLE_THREAD,  /* number of the thread in its block: x + (y + z * height) * width */
	LANG_WHOLE_BLOCK,   /* number of the block in the grid, computed likewise */
	LANG_WHOLE_GLOBAL,  /* ctx->global_linear */
	LANG_WHOLE_PRODUCT, /* x * y * z */
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
	LANG_N_BUILTIN, /* a word; value: 1 to 3 for .x .y .z, 0 for the whole value */
	LANG_N_VAR,
	LANG_N_MAP, /* a map's value; list: the elements of the key */
	LANG_N_UNARY,
	LANG_N_BINARY,
	LANG_N_TERNARY,
	LANG_N_CAST,   /* value: the number of bits */
	LANG_N_READ,   /* a[b] or *a in the application's memory; value: the number of bits */
	LANG_N_SET,    /* a op= b; op NONE: a = b */
	LANG_N_STEP,   /* ++ and --; value: 1 for the prefix form */
	LANG_N_CALL,   /* list: arguments */
	LANG_N_IF,     /* if (a) b else c */
	LANG_N_BLOCK,  /* list: the statements */
	LANG_N_UNROLL, /* the block b, repeated `value` times */
	LANG_N_FOR,    /* for var from a to below c, with body b; the next variable holds the end */
	LANG_N_BREAK,
	LANG_N_CONTINUE,
	LANG_N_RETURN,
};

struct lang_node {
	enum lang_kind kind;
	uint32_t pos; /* position in the text */
	struct lang_type type;
	enum lang_token op;
	bool literal; /* a number that takes the sign of the other operand */
	uint64_t value;
	const char *text; /* a string's bytes without quotes */
	struct lang_builtin builtin;
	const struct lang_function *function;
	struct lang_map *map;
	struct lang_var *var;
	int action; /* index of a call that is an action, among all actions */
	struct lang_node *a, *b, *c, *list, *next;
};

struct lang_var {
	struct lang_var *next;
	const char *name;
	struct lang_type type; /* VOID until lang_check() has inferred it */
	/* number of bits of a variable that `let` declares with a type; 0: it has the type of its first value */
	uint32_t bits;
	uint32_t scope;             /* nesting depth of the block that declares it; UINT32_MAX: out of scope */
	int at;                     /* offset on the stack from r10 */
	uint64_t value;             /* its number in blocks on the host */
	char text[GPUBPF_CTX_NAME]; /* its string in blocks on the host */
};

/* The value of a map: a number that is assigned, or an aggregation by a function with use VALUE. */
struct lang_map {
	struct lang_map *next;
	const char *name;                  /* "@", "@x" */
	uint32_t pos;                      /* position in the text of the first use */
	bool known, declared;              /* known: the value's type is known; declared: `let` declared the maximum
				        * number of keys */
	const struct lang_function *holds; /* the function whose value it holds; NULL: a number */
	struct lang_type value;
	uint32_t nkeys;
	struct lang_type key[LANG_KEYS];
	const char *key_name[LANG_KEYS];
	bool keys_known;
	uint64_t min, max, step; /* bounds and width of a slot of lhist() */
	uint32_t fine;           /* hist(): 1 + bits, for 2^bits slots per power of two */
	uint32_t room;
	bool lru;
	uint32_t key_size, value_size; /* in bytes */
	uint32_t index;                /* index among the object's maps */
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
	const char *section; /* the program's section such as "gpu/exit/name"; on the host "BEGIN", ... */
	uint32_t site;       /* enum gpubpf_site of a device's probe */
	uint32_t number;     /* index among all probes */
	uint64_t every_ns;   /* interval: its period in ns */
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
	bool duration; /* the block uses `duration` */
};

/* The first error, in parts. */
struct lang_refusal {
	char what[512], place[256], remedy[256];
};

struct lang {
	const char *name; /* "-e", or the file name */
	const char *text;
	size_t size;
	const char *const *params;
	uint32_t nparams;
	uint64_t threads; /* number of threads for whose entry times there is room; a power of two */

	void *arena; /* memory of the tree */
	size_t used; /* bytes of that memory in use */
	bool failed;
	struct lang_refusal refusal;
	char why[2048];         /* the error as text, with the quoted source line */
	struct lang_node spare; /* node that functions return if memory is exhausted */

	struct lang_block *blocks;
	struct lang_map *maps;
	uint32_t nmaps, nprobes, nactions;
	struct lang_node *action[LANG_ACTIONS];
	const struct lang_probe *probe[LANG_PROBES];
	bool records, zeros, durations; /* the object needs a ring for records, a value of zeros, entry times */
	bool stacks;                    /* the object needs stacks */
	uint32_t frames;                /* frames of each stack; 0: no use has specified it yet */
	uint32_t zeros_size;

	char names[LANG_NAMES_SIZE]; /* the object's .rodata: strings one after the other, each with its NUL */
	uint32_t names_size;

	void *object;
	size_t object_size;
};

/* lang.c */
struct lang_opts {
	const char *name, *text;
	size_t size;
	const char *const *params; /* [nparams] the values of $1, $2, ... */
	uint32_t nparams;
	uint64_t threads; /* maximum threads with a concurrent `duration`; 0: 1048576 */
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
/* Return zeroed memory that lives as long as l. NULL if memory is exhausted; `failed` is then set. */
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
	uint32_t at; /* position of the character after the token */
	enum lang_token token;
	uint32_t pos, len; /* position and length of the token */
	uint64_t number;
	const char *string; /* the token's text; of a string, the decoded text */
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
	bool filter; /* in a filter, where / before { ends the expression */
	uint32_t depth;
	uint32_t operators; /* number of binary operators in the current statement so far */
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
/* Store bits and sign of a type's name; false: there is no such type. */
bool lang_type_named(const char *word, uint32_t *bits, bool *is_signed);
/*
 * Store bits and sign of the type at an address, which may also be a floating-point type; false: there is no such type.
 */
bool lang_target_named(const char *word, uint32_t *bits, bool *is_signed);
/* builtin.c: finds the row of a word, also of argN. Returns false if the word is unknown. */
bool lang_builtin_find(const char *word, struct lang_builtin *builtin);
/* Make the row of args.NAME, for a name that no probe declares; false: there are too many names. */
bool lang_builtin_named(struct lang *l, const char *name, struct lang_builtin *builtin);
/* Make the row of ctx.FIELD or ctx.FIELD[index], by core/model/ctx_fields.def; false: there is no such field. */
bool lang_field_find(const char *field, uint64_t index, struct lang_builtin *builtin);
/* Return the name of the field at this offset of the context if it is an operand of places; else NULL. */
const char *lang_place_field(uint32_t at);
/* Return why a word of bpftrace is not supported, and what to write instead; NULL: the word is not in refused.def. */
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
 * Return the size in bytes of an action's record: the numbers of the action and of the probe, 4 bytes each, then each
 * argument with lang_size() bytes.
 */
uint32_t lang_record_size(const struct lang_node *call);
/* Return the first argument that the record contains; `next` leads to the others. NULL: there are none. */
struct lang_node *lang_record_args(const struct lang_node *call);
/* Return the bytes of a value of this type in keys and records. */
uint32_t lang_size(struct lang_type type);

#endif
