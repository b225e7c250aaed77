/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-liners: the subset of bpftrace's language that is meaningful in GPU kernels, compiled to an ordinary BPF object.
 * gpubpf-lang(7) documents the language. Stages:
 *
 *   tree    words, functions, memory and errors.
 *   parse   text -> tree.
 *   check   types, maps and places.
 *   gen     tree -> eBPF, and the object.
 *   host    BEGIN, END, interval and records during a session.
 *
 * The object is loaded and verified like any other object, so this code need not be trusted. The stages except host
 * do not depend on other parts of the tool and do not print. All errors state a position in the text.
 */
#ifndef GPUBPF_CLI_LANG_LANG_H
#define GPUBPF_CLI_LANG_LANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/lang/tree/ctype.h"
#include "gpubpf/ctx.h"

#define LANG_TEXT_SIZE (1u << 20)      /* maximum bytes of a program text */
#define LANG_DEPTH 64                  /* maximum nesting depth of expressions and blocks */
/* maximum number of binary operators in one statement; each operator may add a level of nesting */
#define LANG_OPERATORS 1000
#define LANG_HEIGHT 1200               /* maximum nesting depth of expressions after macros are expanded */
#define LANG_VISITS (8u << 20)         /* maximum number of expressions that are checked, in all passes together */
#define LANG_LEXED_SIZE (4u << 20)     /* maximum bytes of the text after #define and macros are expanded */
#define LANG_MAPS 64
#define LANG_VARS 64                   /* maximum number of variables ($x) of a probe */
#define LANG_KEYS 8                    /* maximum number of elements of a key */
#define LANG_KEY_SIZE 256              /* maximum bytes of a key */
#define LANG_VALUE_SIZE 384            /* maximum bytes of a tuple */
#define LANG_BUFFER_SIZE 64            /* maximum bytes of buf() */
#define LANG_JOINED 16                 /* maximum number of strings that join() prints */
#define LANG_KEPT_FRAMES 16            /* frames of ustack and kstack in a probe of the Linux kernel */
#define LANG_MAX_KEPT_FRAMES 30
#define LANG_LOOP_STEPS (8u << 20)     /* maximum number of iterations of a loop with known bounds: GPUBPF_LOOP_MAX */
#define LANG_DIRECT_STEPS 64           /* loops with a known, smaller number of iterations are compiled as jumps */
#define LANG_DEFINE_DEPTH 8            /* maximum nesting depth of #define and #include */
#define LANG_SOURCES 256               /* maximum number of files that a text includes */
#define LANG_SOURCES_SIZE (4u << 20)   /* maximum bytes of a text with these files */
#define LANG_EXPANSIONS 10000          /* maximum number of expanded calls of macros and functions in a text */
#define LANG_STRING_SIZE 1024          /* maximum bytes of a string literal */
#define LANG_ARGS 32                   /* maximum arguments of printf(), and declared arguments of a kernel */
#define LANG_DEVICE_PROBES 256         /* maximum number of probes in GPU kernels: GPUBPF_MAX_PROGS */
#define LANG_PROBES 1024               /* maximum number of probes of a text, after globs are expanded */
#define LANG_UNROLL 100
#define LANG_INSNS 30000               /* maximum number of instructions of one probe; the limit of a jump is 32767 */
#define LANG_HIST_BITS 5
#define LANG_SLOTS 1024                /* maximum number of slots of a histogram */
#define LANG_MAP_KEYS 4096             /* maximum number of keys of a map without a `let` declaration */
#define LANG_MAX_DECLARED_KEYS (1u << 24)
#define LANG_STACKS 16384              /* maximum number of different stacks */
#define LANG_FRAMES 127
#define LANG_RING_BYTES (1u << 20)
#define LANG_NAMES_SIZE 4096           /* maximum total bytes of argument names that no probe declares */
#define LANG_ACTIONS 1024              /* maximum calls of printf(), print() and similar in a text */

/* name of the program of an object without probes for GPU kernels, and of the kernel that it names */
#define LANG_IDLE "__idle"

enum lang_token {
	LANG_T_NONE,
	LANG_T_END,
	LANG_T_NUMBER,
	LANG_T_STRING,
	LANG_T_WORD,
	LANG_T_VAR, /* $x */
	LANG_T_MAP, /* @x */
#define LANG_TOKEN(name, text, precedence, assigns) LANG_T_##name,
#include "cli/lang/tree/tokens.def"
	LANG_TOKENS,
};

enum lang_base {
	LANG_VOID,
	LANG_INT,
	LANG_BOOL,
	LANG_KERNEL, /* a kernel's id */
	LANG_ADDRESS,
	LANG_STACK,   /* the id of a stack, or a negative error code of helper 27 */
	LANG_TIME,    /* the result of strftime(): a time in ns */
	LANG_PROCESS, /* `comm` at places of GPU kernels: the id of the process */
	LANG_NAME,    /* a string of 64 bytes, including its NUL */
	LANG_TUPLE,
	LANG_BUFFER, /* the result of buf(): the number of bytes, and then the bytes */
	/* a string that the host knows, for example a literal; becomes a LANG_NAME when it is stored */
	LANG_TEXT,
	LANG_AGGREGATE,  /* the value of count() and similar functions */
	LANG_RECORD,     /* a struct or union in the application's memory: its address */
	LANG_ARRAY,      /* an array there: the address of its first element */
	LANG_LABEL,      /* a number that is printed as a text: see enum lang_label */
	LANG_FRAME_LIST, /* a stack in a probe of the Linux kernel: the process, then the addresses; 0 ends them */
};

struct lang_type {
	enum lang_base base;
	bool is_signed;
	bool to_signed;                 /* only for an address: the number there is signed */
	uint8_t to;                     /* only for an address: size in bits of the number there; 0: unknown */
	uint32_t bytes;                 /* the capacity of a buffer, or the number of frames of LANG_FRAME_LIST */
	const struct lang_shape *shape; /* only for a tuple */
	const char *format;             /* only for LANG_TIME: the format of strftime() */
	/* the type of a struct or array, or the type at an address if that is no number; else NULL */
	const struct lang_ctype *c;
	bool in_kernel;        /* the address or the stack is one of the Linux kernel */
	enum lang_label label; /* only for LANG_LABEL */
	/* only for LANG_INT: the enum whose enumerators print() and %s show, or NULL */
	const struct lang_ctype *names;
};

/* the elements of a tuple, in order */
struct lang_shape {
	uint32_t n, size; /* size: bytes of all elements */
	struct lang_type type[LANG_KEYS];
	uint32_t at[LANG_KEYS]; /* offset in bytes of each element */
};

enum lang_source {
	LANG_SOURCE_CTX,
	LANG_SOURCE_TRIPLE,
	LANG_SOURCE_HELPER,
	LANG_SOURCE_STACK,
	LANG_SOURCE_NAMED,
	LANG_SOURCE_DURATION,
	LANG_SOURCE_PROBE,
	LANG_SOURCE_ELAPSED,
	LANG_SOURCE_COMM,
	LANG_SOURCE_FUNCTION, /* in a probe of the Linux kernel: the name of the function */
	LANG_SOURCE_FRAMES,
	LANG_SOURCE_PLACE, /* an array in the record of a tracepoint; size: 0, or 4 if the field there has the offset */
	LANG_SOURCE_HOST,  /* in BEGIN, END and interval: at is an enum lang_host_word */
};

enum lang_host_word {
	LANG_HOST_PID,
	LANG_HOST_TID,
	LANG_HOST_UID,
	LANG_HOST_GID,
	LANG_HOST_CPU,
	LANG_HOST_NODE,
	LANG_HOST_PPID,
	LANG_HOST_USER,
	LANG_HOST_COMM,
	LANG_HOST_JIFFIES,
};

enum lang_whole {
	LANG_WHOLE_THREAD,  /* linear number of the thread in its block: x + (y + z * height) * width */
	LANG_WHOLE_BLOCK,   /* linear number of the block in the grid, by the same formula */
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
#include "cli/lang/tree/functions.def"
	LANG_FUNCTIONS,
};

/* a conversion of printf(), such as %-10s or %hhd */
struct lang_conversion {
	const char *text;    /* the % */
	uint32_t flags, len; /* bytes before the length and the letter (% to precision); bytes of the whole conversion */
	uint32_t bits;       /* width of an integer: 8, 16 or 64 */
	char name;           /* d, s, ...; r: a buffer */
	char style;          /* for r: 0, x or h */
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
	LANG_N_BUILTIN, /* a word; value: 1 to 3 for .x .y .z, or 0 without a suffix */
	LANG_N_VAR,
	LANG_N_MAP, /* the value of a map; list: the elements of the key */
	LANG_N_UNARY,
	LANG_N_BINARY,
	LANG_N_TERNARY,
	LANG_N_TUPLE,  /* list: the elements */
	LANG_N_PART,   /* element `value` of the tuple a */
	LANG_N_VALUE,  /* a block expression: the statements in list, then the value a, which may be NULL */
	LANG_N_FN,     /* a call of a function of the text: list sets its parameters, b is its body, var its result */
	LANG_N_CAST,   /* value: size of the type in bits */
	LANG_N_READ,   /* a[b] or *a in the application's memory; value: size of the element in bits */
	LANG_N_MEMBER, /* a.text or, with op ARROW, a->text */
	LANG_N_PLACE,  /* the address of the READ or MEMBER a */
	LANG_N_SIZE,   /* sizeof(a), until the type of a is known; then a NUMBER */
	LANG_N_SET,    /* a op= b; op NONE: a = b */
	LANG_N_STEP,   /* ++ or --; value: 1 for the prefix form */
	LANG_N_CALL,   /* list: arguments */
	LANG_N_IF,     /* if (a) b else c */
	LANG_N_BLOCK,  /* list: the statements */
	LANG_N_UNROLL, /* the block b, `value` times */
	LANG_N_FOR,    /* body b for var from a to c - 1; the variable after var holds c */
	LANG_N_EACH,   /* body b for each element of the map a; var is the tuple (key, value) */
	LANG_N_WHILE,  /* body b while a */
	LANG_N_BREAK,
	LANG_N_CONTINUE,
	LANG_N_RETURN, /* a: the value, or NULL. c: the LANG_N_FN that it ends, or NULL */
};

struct lang_node {
	enum lang_kind kind;
	uint32_t pos; /* position in the program text, in bytes */
	struct lang_type type;
	enum lang_token op;
	bool literal; /* a literal number, which takes the sign of the other operand */
	uint64_t value;
	uint32_t elements; /* for a cast to an array: its number of elements */
	uint32_t steps;    /* for a loop in a kernel: its maximum number of iterations */
	const char *text;  /* for a string: its bytes without quotes */
	struct lang_builtin builtin;
	const struct lang_function *function;
	const struct lang_member *member; /* for a MEMBER; its offset is `value` */
	struct lang_map *map;
	struct lang_var *var;
	int action; /* for a call that is an action: its index among all actions; else -1 */
	struct lang_node *a, *b, *c, *list, *next;
};

struct lang_var {
	struct lang_var *next;
	const char *name;
	struct lang_type type; /* LANG_VOID until lang_check() has inferred the type */
	/* size in bits if `let` declares the variable with a type; 0: the first value determines the type */
	uint32_t bits;
	uint32_t scope;             /* nesting depth of the block that defines the variable; UINT32_MAX: out of scope */
	const void *frame;          /* the expanded call of a macro or function that defines the variable; NULL: none */
	bool is_other_kernel;       /* the variable may hold the id of another kernel than the one that runs */
	int at;                     /* stack offset from r10 of the program */
	uint64_t value;             /* the current number in a block on the host */
	char text[LANG_VALUE_SIZE]; /* the current string, tuple or buffer in a block on the host */
};

/* A map. Its values are assigned, or aggregated by a function with the use VALUE. */
struct lang_map {
	struct lang_map *next;
	const char *name;        /* "@", "@x" */
	const char *object_name; /* name in the object: the Linux kernel accepts no @, so @x is AT_x in its objects */
	uint32_t pos;            /* position of the map's first use in the program text */
	/* known: the type of the value is known; declared: `let` declares the maximum number of keys */
	bool known, declared;
	const struct lang_function *holds; /* the function that aggregates the values; NULL: values are assigned */
	struct lang_type value;
	uint32_t nkeys;
	struct lang_type key[LANG_KEYS];
	const char *key_name[LANG_KEYS];
	bool keys_known;
	uint64_t min, max, step; /* lhist(): the bounds, and the width of a slot */
	uint64_t series_ns;      /* tseries(): the interval, or 0 */
	uint32_t series_count;   /* tseries(): number of intervals */
	uint32_t fine;           /* hist(): 1 + bits; a power of two has 2^bits slots */
	uint32_t room;
	bool lru;
	uint64_t owner;                /* which thread uses a key (note_owner()), or 0 */
	bool is_shared;                /* threads of kernels use keys that are not their own number */
	uint32_t key_size, value_size; /* in bytes */
	uint32_t index;                /* index of the map in the object */
};

enum lang_when {
	LANG_ON_DEVICE,
	LANG_BEGIN,
	LANG_END,
	LANG_INTERVAL,
	LANG_IN_LINUX, /* a probe of the Linux kernel: its program runs there, and shares the maps */
};

enum lang_linux_kind {
#define LANG_LINUX(NAME, name, brief, section, parts, args) LANG_LINUX_##NAME,
#include "cli/lang/tree/linux.def"
};

struct lang_probe {
	struct lang_probe *next;
	enum lang_when when;
	uint32_t pos;
	/* the program's ELF section such as "gpu/exit/name"; on the host "BEGIN", "END" or the interval */
	const char *section;
	uint32_t site; /* enum gpubpf_site; only for LANG_ON_DEVICE */
	uint32_t host; /* enum gpubpf_host_event of a host/ probe; 0: the program runs in kernels */
	/* only for LANG_IN_LINUX: the ELF section, as libbpf reads it; `section` is the probe as written */
	const char *linux_section;
	enum lang_linux_kind linux_kind;
	const char *function; /* only for LANG_IN_LINUX: the value of `func`, or NULL */
	const char *file;     /* only for uprobe, uretprobe and usdt: the path of the program or library */
	const char *usdt;     /* only for a usdt probe: where its arguments are, as the compiler noted it */
	uint32_t number;      /* index of the probe among all probes */
	uint64_t every_ns;    /* only for LANG_INTERVAL: the period in ns */
	uint64_t due_ns;
	struct lang_block *block;
};

/* an argument of the kernel that a probe declares, as in gpu/entry/vector_add(float *a, uint n) */
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
	bool splits;   /* a word differs between the probes, so each probe needs its own copy of the block */
	bool duration; /* the block uses the word `duration` */
	bool loops;    /* the block has loops that the program calls as functions */
};

/* The first error: its message, its position and the remedy. */
struct lang_refusal {
	char what[512], place[256], remedy[256];
};

/* a file that the text includes or imports; its bytes follow the program text */
struct lang_input {
	struct lang_input *next;
	const char *name; /* its path, for messages */
	uint32_t begin, end;
};

struct lang {
	const char *name; /* name of the program text in messages: "-e" or the file's name */
	const char *text;
	size_t size;  /* bytes of the program text */
	size_t total; /* bytes with the files that it includes */
	char *joined; /* memory of the text with these files, or NULL */
	bool reads_files;
	struct lang_input *sources;
	uint32_t nsources;
	struct lang_warning *warnings;
	const char *const *params, *path;
	uint32_t nparams;
	uint64_t threads; /* number of slots for entry times of threads; a power of two */

	void *arena; /* memory in which the tree is allocated */
	size_t used; /* number of bytes of `arena` in use */
	bool failed;
	struct lang_refusal refusal;
	char why[2048];         /* the complete error message, with the quoted source line */
	struct lang_node spare; /* returned instead of a new node if memory is exhausted */

	struct lang_block *blocks;
	struct lang_map *maps;
	uint32_t nmaps, nprobes, ndevice, nactions; /* ndevice: probes in GPU kernels */
	struct lang_node *action[LANG_ACTIONS];
	const struct lang_probe *probe[LANG_PROBES];
	bool linux_probes;              /* the text has probes of the Linux kernel */
	bool records, zeros, durations; /* the object needs the internal map of records, of zeros, or of entry times */
	bool stacks;                    /* the object needs the internal map of stacks */
	bool limits;                    /* the object needs the internal map of loops that reached their limit */
	uint32_t frames;                /* maximum number of frames of each stack; 0: not specified yet */
	uint32_t zeros_size;

	uint64_t start_ns; /* time of CLOCK_MONOTONIC at which the text was compiled */
	struct lang_define *defines;
	struct lang_macro *macros;
	struct lang_record *structs; /* structs and unions so far */
	struct lang_typename {
		struct lang_typename *next;
		const char *name; /* the name of a typedef, or "enum color" */
		const struct lang_ctype *type;
	} *typenames;
	struct lang_enumerator {
		struct lang_enumerator *next;
		const char *name;
		uint64_t value;
		const struct lang_ctype *type; /* the enum */
	} *enumerators;
	struct btf *btf; /* types of the Linux kernel, if the text needs them */
	bool btf_failed;
	uint32_t nloops;     /* number of functions of loops in the object so far */
	uint64_t lexed;      /* bytes of text read so far; the text of a #define or macro counts at each use */
	uint32_t expansions; /* number of expanded calls of macros and functions so far */
	struct lang_settings {
		uint64_t max_map_keys, max_loop_steps; /* 0: the default */
		bool keeps_maps;                       /* maps are not printed at the end */
	} settings;

	char names[LANG_NAMES_SIZE]; /* contents of the object's .rodata: NUL-terminated names of arguments */
	uint32_t names_size;

	void *object;
	size_t object_size;
};

/* lang.c */
struct lang_warning {
	struct lang_warning *next;
	const char *text; /* with its position */
};
struct lang_opts {
	const char *name, *text;
	size_t size;
	const char *const *params; /* [nparams] the values of $1, $2, ... */
	uint32_t nparams;
	const char *path; /* folders of programs for usdt probes, separated by `:`; NULL: none */
	uint64_t threads; /* maximum number of threads whose `duration` is measured at the same time; 0: 1048576 */
	bool reads_files; /* #include and import may read files; their names are relative to the folder of `name` */
};
/*
 * Compile a program text to an object. Returns 0, -EINVAL or -ENOMEM. After -EINVAL, *l exists too, and lang_why()
 * returns the error with its position and remedy. The strings of opts must stay valid as long as *l. If the text has
 * only BEGIN, END and interval, there is no object, and lang_object() returns NULL.
 */
int lang_compile(const struct lang_opts *opts, struct lang **l);
void lang_destroy(struct lang *l);
const char *lang_why(const struct lang *l);
const struct lang_refusal *lang_refusal(const struct lang *l);
const void *lang_object(const struct lang *l, size_t *size);
const struct lang_warning *lang_warnings(const struct lang *l); /* NULL: none */

/* cli/lang/tree/common.c: memory, errors and tables */

/* Record an error, unless one was recorded before. Returns -EINVAL. */
int lang_fail(struct lang *l, uint32_t pos, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Add a warning. */
void lang_warn(struct lang *l, uint32_t pos, const char *what);
/* Return the name of the file that contains the position. */
const char *lang_source_name(const struct lang *l, uint32_t pos);
uint32_t lang_source_end(const struct lang *l, uint32_t pos); /* returns the end of that file in the text */
/* Return zeroed memory that is freed with l. Returns NULL and sets `failed` if memory is exhausted. */
void *lang_alloc(struct lang *l, size_t size);
void lang_free_memory(struct lang *l);
char *lang_copy(struct lang *l, const char *text, size_t size);
char *lang_format(struct lang *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void lang_line_column(const struct lang *l, uint32_t pos, uint32_t *line, uint32_t *column);
const char *lang_token_text(enum lang_token token);
/*
 * Find the next conversion in a format. Returns the text after it, or NULL if there is none. The conversion %% has the
 * name %. An incomplete or unknown conversion has the name 0.
 */
const char *lang_conversion(const char *format, struct lang_conversion *c);
const struct lang_function *lang_function_find(const char *name);
const struct lang_function *lang_function_at(uint32_t i); /* returns NULL past the end */

/* cli/lang/tree/btf.c: types of the Linux kernel. They return NULL if there is no such type. */
struct btf *lang_btf(struct lang *l);                                        /* all types */
const struct lang_record *lang_btf_record(struct lang *l, const char *name); /* "struct path" */
/* Store the value of an enumerator of the Linux kernel. */
bool lang_btf_enumerator(struct lang *l, const char *name, uint64_t *value);
/* Store type, index and bits of a parameter of a kernel function. A NULL name is the result. Returns false if there is none. */
bool lang_btf_parameter(struct lang *l, const char *function, const char *name, struct lang_type *type, uint32_t *index,
			uint32_t *bits);
void lang_btf_members(struct lang *l, struct lang_record *record); /* reads the members of a struct */
void lang_btf_free(struct lang *l);
/* Return what a pointer points to. NULL: void. */
const struct lang_ctype *lang_ctype_target(struct lang *l, const struct lang_ctype *pointer);

/* cli/lang/tree/kallsyms.c: symbols of the running Linux kernel */
bool lang_kernel_symbol_address(const char *name, uint64_t *address);
/* Store the function at the address, as vfs_read+16. Returns false if it is not known. */
bool lang_kernel_symbol(uint64_t address, char *buf, size_t size);

/* cli/lang/tree/ctype.c */
/* Find a member, also in anonymous structs. *at becomes its offset in bytes. */
const struct lang_member *lang_member_find(struct lang *l, const struct lang_ctype *type, const char *name, uint32_t *at);
/* Return the type of a value of this C type: a number, an address, a struct or an array. */
struct lang_type lang_type_of(struct lang *l, const struct lang_ctype *c);
/* Return the type of an address that points to this C type. NULL: void. */
struct lang_type lang_address_of(const struct lang_ctype *c);
const struct lang_ctype *lang_ctype_int(struct lang *l, uint32_t bits, bool is_signed);
const struct lang_ctype *lang_ctype_pointer(struct lang *l, const struct lang_ctype *to);

/* cli/lang/parse/parse.c: 0 or -EINVAL */
int lang_parse(struct lang *l);
/* cli/lang/tree/builtin.c: stores the row of cli/lang/tree/builtins.def for a word or for argN. Returns false if the word is unknown. */
bool lang_builtin_find(const char *word, struct lang_builtin *builtin);
/* Store the row of a word in a probe of the Linux kernel. Returns false if it has no such word. */
bool lang_linux_find(const struct lang_probe *probe, const char *word, struct lang_builtin *builtin);
/* Return the text of the word probe or func. */
const char *lang_word_text(const struct lang_node *n, const struct lang_probe *probe);
/* Returns true if the block runs only in the tool. */
bool lang_is_host(const struct lang_block *block);
/* Store the row of a word in BEGIN, END and interval. Returns false if they have no such word. */
bool lang_host_word_find(const char *word, struct lang_builtin *builtin);
/* Returns true if the block's program runs in the Linux kernel. */
bool lang_is_linux(const struct lang_block *block);
/* Returns true if the word may have this option in parentheses, as in nsecs(monotonic). */
bool lang_builtin_option(const char *word, const char *option);
const char *lang_builtin_options(const char *word); /* returns what may be written in the parentheses */
/*
 * Make a row for args.NAME where no probe declares NAME. Returns false if the names need more than LANG_NAMES_SIZE
 * bytes.
 */
bool lang_builtin_named(struct lang *l, const char *name, struct lang_builtin *builtin);
/* Make a row for ctx.FIELD or ctx.FIELD[index] (core/model/ctx_fields.def). Returns false if there is no such field. */
bool lang_field_find(const char *field, uint64_t index, struct lang_builtin *builtin);
/* If the field at this offset of the context is an operand of places, return its name; else NULL. */
const char *lang_place_field(uint32_t at);
/*
 * Return why a word of bpftrace is not supported, and store in *instead what to write. NULL: the word is not in
 * cli/lang/tree/refused.def.
 */
const char *lang_refused(const char *word, const char **instead);
const char *lang_nearest_word(const char *word, char *buf, size_t size);

/* cli/lang/check/check.c: 0 or -EINVAL */
int lang_check(struct lang *l);
/*
 * Returns true if the map is an array with one element, which always exists. A map is an array if it has no keys and
 * its initial value is 0. Other values must be inserted first.
 */
bool lang_map_is_array(const struct lang_map *map);

/* Returns true if a probe of the text runs in GPU kernels. */
bool lang_has_device_probes(const struct lang *l);

/* cli/lang/gen/gen.c, cli/lang/gen/object.c */
int lang_generate(struct lang *l);

/*
 * Return the size in bytes of the record of an action. A record contains the number of the action and the number of the
 * probe, 4 bytes each, and then each argument with lang_size() bytes.
 */
uint32_t lang_record_size(const struct lang_node *call);
/* Return the first argument that the record contains, or NULL. `next` leads to the further arguments. */
struct lang_node *lang_record_args(const struct lang_node *call);
/* Return the size in bytes of a value of this type in keys and records. */
uint32_t lang_size(struct lang_type type);
/* Returns true if values of this type are bytes in memory, and not a number in a register. */
bool lang_is_in_memory(struct lang_type type);
/* Returns true if a loop is compiled as jumps, and not as a function that helper 181 calls. */
bool lang_loop_is_direct(const struct lang_node *n);

#endif
