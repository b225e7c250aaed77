/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What loading makes of objects, and every later stage reads: maps, programs, and the unit that holds
 * them. A unit is immutable after loading but for `facts`, which the verifier fills.
 */
#ifndef GPUBPF_CORE_PROG_H
#define GPUBPF_CORE_PROG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpubpf/ctx.h"
#include "insn.h"
#include "places.h"

struct gpubpf_diag;
struct gpubpf_facts;
struct gpubpf_session;

/* map type flags of map_types.def */
enum {
	GPUBPF_MAP_KEYED = 1 << 0,
	GPUBPF_MAP_U32KEY = 1 << 1,
	GPUBPF_MAP_RING = 1 << 2,
	GPUBPF_MAP_COPIES = 1 << 3,
	GPUBPF_MAP_THREAD = 1 << 4,
	GPUBPF_MAP_REPLICA = 1 << 5,
};

struct gpubpf_map_type {
	uint32_t number;      /* BPF_MAP_TYPE_* or 1501.. */
	const char *name;     /* "HASH" */
	const char *impl;     /* "hash" */
	uint32_t flags;       /* GPUBPF_MAP_* */
	const char *meaning;
};
/* NULL for a number that map_types.def does not have. */
const struct gpubpf_map_type *gpubpf_map_type_find(uint32_t number);
/* The i-th row of map_types.def, NULL past the end. */
const struct gpubpf_map_type *gpubpf_map_type_at(size_t i);

/* helper flags of helpers.def */
enum {
	GPUBPF_HELPER_DEV = 1 << 0,
	GPUBPF_HELPER_HOST = 1 << 1,
	GPUBPF_HELPER_KERNEL = 1 << 2,
	GPUBPF_HELPER_ENDS = 1 << 4,
};

enum gpubpf_ret {
	GPUBPF_RET_VOID,
	GPUBPF_RET_INT,
	GPUBPF_RET_MAP_VALUE_OR_NULL,
	GPUBPF_RET_RECORD_OR_NULL,    /* ring-buffer record of the constant size; a reference */
};

/* types of helper arguments, in the kernel's words where it has one */
enum gpubpf_arg {
	GPUBPF_ARG_NONE,
	GPUBPF_ARG_ANY,           /* any number (ARG_ANYTHING) */
	GPUBPF_ARG_CONST,         /* a known constant */
	GPUBPF_ARG_MAP,           /* a map pointer (ARG_CONST_MAP_PTR) */
	GPUBPF_ARG_MAP_KEY,       /* key_size readable bytes */
	GPUBPF_ARG_MAP_VALUE,     /* value_size readable bytes */
	GPUBPF_ARG_MAP_VALUE_OUT, /* value_size writable bytes, initialised by the call */
	GPUBPF_ARG_MEM_RD,        /* readable memory; its size is the next argument */
	GPUBPF_ARG_MEM_WR,        /* writable memory, initialised by the call; size is the next argument */
	GPUBPF_ARG_SIZE,          /* > 0 */
	GPUBPF_ARG_SIZE_OR_ZERO,
	GPUBPF_ARG_ALLOC_SIZE,    /* a constant size of memory that the helper returns */
	GPUBPF_ARG_FMT,           /* format string of trace_printk: readable; its size is the next argument */
	GPUBPF_ARG_STR,           /* a string that ends with NUL inside its memory */
	GPUBPF_ARG_U64_OUT,       /* 8 writable bytes, initialised by the call */
	GPUBPF_ARG_CTX,
	GPUBPF_ARG_CTX_OR_NULL,
	GPUBPF_ARG_RECORD,        /* what RET_RECORD returned; the call ends the reference */
	GPUBPF_ARG_CALLBACK,
	GPUBPF_ARG_STACK_OR_NULL,
};

struct gpubpf_helper {
	uint32_t id;
	const char *name;         /* "map_lookup_elem" */
	enum gpubpf_ret ret;
	enum gpubpf_arg arg[5];
	uint32_t flags;
	const char *meaning;
};
/* libbpf turns an instruction whose CO-RE relocation found nothing into a call of this number
 * (bpf_core_poison_insn in its relo_core.c); legal where no path reaches it. */
#define GPUBPF_CORE_POISON 195896080
/* NULL for a number that helpers.def does not have. */
const struct gpubpf_helper *gpubpf_helper_find(uint32_t id);
const struct gpubpf_helper *gpubpf_helper_at(size_t i);

/* one map of a unit */
struct gpubpf_map {
	char name[64];
	const struct gpubpf_map_type *type;
	uint32_t key_size, value_size;  /* bytes; a ring has key 0; 1527: value_size is the record's room */
	uint32_t max_entries;
	uint32_t map_flags;             /* BPF_F_* as given */
	bool rdonly;                    /* frozen .rodata: the program only reads it, `init` is its content */
	bool global_data;               /* .data, .bss, .rodata: one value, addressed directly */
	const void *init;               /* initial content: value_size bytes for global data, else NULL */
	uint32_t btf_key, btf_value;    /* BTF type ids in the object's BTF, 0 if none */
	int object;                     /* which object of the session it came from: index */
	struct gpubpf_session *session; /* that holds its values (libgpubpf); NULL outside of one */
};

struct gpubpf_line {
	uint32_t pc;
	uint32_t line, column;
	const char *file, *text;
};

/* a function of a program: the program itself is func[0]; sub-programs follow in address order */
struct gpubpf_func {
	uint32_t first, count;          /* slots */
	char name[64];
};

struct gpubpf_prog {
	char name[64];                  /* C name of the function */
	char section[128];
	char pattern[256];              /* name or glob of what places of its kind name; --attach may have replaced it */
	enum gpubpf_site site;
	struct gpubpf_insn *insns;
	uint32_t ninsns;
	struct gpubpf_func *funcs;
	uint32_t nfuncs;
	struct gpubpf_line *lines;      /* sorted by pc; may be empty */
	uint32_t nlines;
	int object;
	struct gpubpf_facts *facts;     /* NULL until verified */
	struct gpubpf_session *session; /* that has loaded it (libgpubpf); NULL outside of one */
};

struct gpubpf_unit {
	struct gpubpf_map *maps;
	uint32_t nmaps;
	struct gpubpf_prog *progs;
	uint32_t nprogs;
};

/* The line of source that pc belongs to, NULL if unknown. */
const struct gpubpf_line *gpubpf_prog_line(const struct gpubpf_prog *prog, uint32_t pc);

#endif
