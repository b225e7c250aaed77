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
struct gpubpf_map_impl;
struct gpubpf_stacks;
struct gpubpf_session;

/* what helpers do, and what map types can: the rows of core/ops.def */
enum gpubpf_op {
#define GPUBPF_OP(name, function, use, meaning) GPUBPF_OP_##name,
#include "ops.def"
	GPUBPF_OPS,
};

#define GPUBPF_OP_BIT(op) (1u << (op))

struct gpubpf_op_row {
	const char *function; /* "lookup"; "": the device library has none on maps */
	uint32_t use;         /* of enum gpubpf_map_use */
};
const struct gpubpf_op_row *gpubpf_op_row(enum gpubpf_op op);

/* flags of include/gpubpf/map_types.def, GPUBPF_MAP_KEYED and so on */
enum {
#define GPUBPF_MAP_FLAG(name, meaning) GPUBPF_MAP_FLAG_##name,
#include "gpubpf/map_types.def"
};
enum {
#define GPUBPF_MAP_FLAG(name, meaning) GPUBPF_MAP_##name = 1 << GPUBPF_MAP_FLAG_##name,
#include "gpubpf/map_types.def"
};

struct gpubpf_map_type {
	uint32_t number;      /* BPF_MAP_TYPE_* or 1501.. */
	const char *name;     /* "HASH" */
	const struct gpubpf_map_impl *impl; /* maps/impl.h; never NULL in the table */
	uint32_t ops;         /* GPUBPF_OP_BIT() of what programs may do with it */
	uint32_t flags;       /* GPUBPF_MAP_* */
	const char *meaning;
};
/* NULL for a number that map_types.def does not have. */
const struct gpubpf_map_type *gpubpf_map_type_find(uint32_t number);
bool gpubpf_map_type_has(uint32_t number, uint32_t flags); /* it is there, and has one of them */
/* The i-th row of map_types.def, NULL past the end. */
const struct gpubpf_map_type *gpubpf_map_type_at(size_t i);

/* classes of helpers.def */
enum gpubpf_helper_class {
	GPUBPF_CLASS_KERNEL,
	GPUBPF_CLASS_ENV,
	GPUBPF_CLASS_MAP,
	GPUBPF_CLASS_PRINT,
	GPUBPF_CLASS_LOOP,
	GPUBPF_CLASS_TAIL,
	GPUBPF_CLASS_ENDS,
};

/* what lanes have in common in what a helper gives them */
enum gpubpf_level {
	GPUBPF_LEVEL_VARY,
	GPUBPF_LEVEL_LANE,    /* the number of the lane or thread */
	GPUBPF_LEVEL_KEY,     /* as much as in the key, where one element is one place for all lanes */
	GPUBPF_LEVEL_WARP,
	GPUBPF_LEVEL_BLOCK,
};

enum gpubpf_ret {
	GPUBPF_RET_VOID,
	GPUBPF_RET_INT,
	GPUBPF_RET_MAP_VALUE_OR_NULL,
	GPUBPF_RET_RECORD_OR_NULL,    /* ring-buffer record of the constant size; a reference */
};

/* types of helper arguments: the rows of core/args.def */
enum gpubpf_arg {
#define GPUBPF_ARG(name, pass, size, shown, meaning) GPUBPF_ARG_##name,
#include "args.def"
	GPUBPF_ARGS,
};

/* how the device library's function gets an argument */
enum gpubpf_pass {
	GPUBPF_PASS_NOT,
	GPUBPF_PASS_NUMBER,
	GPUBPF_PASS_IN,       /* a pointer to private bytes that it reads */
	GPUBPF_PASS_OUT,      /* that it writes */
	GPUBPF_PASS_TEXT,     /* IN, and then their number */
	GPUBPF_PASS_PARAM,    /* two numbers: where the parameter's bytes are (gpubpf_param.bytes_off), and how many */
	GPUBPF_PASS_NAMED,    /* two numbers: struct gpubpf_param_read of the parameter (core/param.h) */
};

/* how much memory is behind a pointer argument */
enum gpubpf_arg_size {
	GPUBPF_SIZE_NONE,
	GPUBPF_SIZE_KEY,
	GPUBPF_SIZE_VALUE,
	GPUBPF_SIZE_NEXT,     /* the next argument says */
	GPUBPF_SIZE_WORD,     /* 8 bytes */
	GPUBPF_SIZE_KNOWN,    /* what the verifier found: size_max of its facts */
};

struct gpubpf_arg_row {
	enum gpubpf_pass pass;
	enum gpubpf_arg_size size;
};
const struct gpubpf_arg_row *gpubpf_arg_row(enum gpubpf_arg arg);

struct gpubpf_helper {
	uint32_t id;
	const char *name;         /* "map_lookup_elem" */
	enum gpubpf_helper_class class;
	enum gpubpf_op op;
	enum gpubpf_level level;
	enum gpubpf_ret ret;
	enum gpubpf_arg arg[5];
	const char *meaning;
};
/* May a program call it that is to run? */
static inline bool gpubpf_helper_runs(const struct gpubpf_helper *helper)
{
	return helper->class != GPUBPF_CLASS_KERNEL;
}
/* Argument i, from 0, of a call on a map of the type, which is NULL where there is none: kinds that are asked for a value
 * read what others write. */
enum gpubpf_arg gpubpf_helper_arg(const struct gpubpf_helper *helper, int i, const struct gpubpf_map_type *type);
/* The number of the argument that is a map, a parameter of the kernel, or its name, from 1; 0 if there is none. */
uint32_t gpubpf_helper_map_arg(const struct gpubpf_helper *helper);
uint32_t gpubpf_helper_param_arg(const struct gpubpf_helper *helper);
uint32_t gpubpf_helper_name_arg(const struct gpubpf_helper *helper);
/* The helper that an instruction calls; NULL: it calls none, or one that helpers.def does not have. */
const struct gpubpf_helper *gpubpf_insn_helper(const struct gpubpf_insn *insn);
/* libbpf turns an instruction whose CO-RE relocation found nothing into a call of this number
 * (bpf_core_poison_insn in its relo_core.c); legal where no path reaches it. */
#define GPUBPF_CORE_POISON 195896080
/* NULL for a number that helpers.def does not have. */
const struct gpubpf_helper *gpubpf_helper_find(uint32_t id);
/* The i-th row of helpers.def, NULL past the end. */
const struct gpubpf_helper *gpubpf_helper_at(size_t i);
/* Numbers of all helpers that run, as text: "1 to 3, 5". */
void gpubpf_helper_list(char *buf, size_t size);

/* an element that a map of maps or of programs has from the start */
struct gpubpf_map_element {
	uint32_t key, map;              /* the map's index in the unit; a program's number - 1 */
};

/* a program that may stand in a PROG_ARRAY */
struct gpubpf_map_target {
	uint32_t number;                /* from 1: which one it is of its object's */
	bool named;                     /* by the map's definition */
	char name[64];
};

/* one map of a unit */
struct gpubpf_map {
	char name[64];
	const struct gpubpf_map_type *type;
	uint32_t key_size, value_size;  /* bytes; a ring has key 0; 1527: value_size is the record's room */
	uint32_t max_entries;
	uint32_t map_flags;             /* BPF_F_* as given */
	uint64_t map_extra;             /* as given: of a BLOOM_FILTER, hash functions */
	uint32_t place;                 /* enum gpubpf_placement + 1, as map_flags say; 0: they do not */
	bool rdonly;                    /* frozen .rodata: the program only reads it, `init` is its content */
	bool scratch;                   /* GPUBPF_SCRATCH: for its programs alone */
	bool few;                       /* GPUBPF_FEW: of a ring, by few threads */
	bool global_data;               /* .data, .bss, .rodata: one value, addressed directly */
	bool prototype;                 /* what elements of a map of maps are like: it has no memory, and nobody sees it */
	uint32_t inner;                 /* of a map of maps: the index of its prototype, + 1; else 0 */
	struct gpubpf_map_element *elements; /* [nelements] of a map of maps or programs, owned; NULL: none */
	uint32_t nelements;
	struct gpubpf_map_target *targets; /* [ntargets] of a map of programs: what may stand in it, owned; NULL: nothing */
	uint32_t ntargets;
	const void *init;               /* initial content: value_size bytes for global data, else NULL */
	uint32_t btf_key, btf_value;    /* BTF type ids in the object's BTF, 0 if none */
	const struct gpubpf_stacks *stacks; /* of a STACK_TRACE: where its stacks are known (maps/stacks.h); NULL: nowhere */
	int kernel;                     /* the Linux kernel's array that holds its values, by descriptor + 1; 0: none */
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
	uint32_t first, count;          /* instructions */
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

#define GPUBPF_MAX_MAPS 256   /* of a unit: an arena has a table of as many rows */

/* May `map` be an element of maps of maps whose elements are like `prototype`? */
bool gpubpf_map_is_like(const struct gpubpf_map *map, const struct gpubpf_map *prototype);

struct gpubpf_unit {
	struct gpubpf_map *maps;
	uint32_t nmaps;
	struct gpubpf_prog *progs;
	uint32_t nprogs;
};

/* The line of source that pc belongs to, NULL if unknown. */
const struct gpubpf_line *gpubpf_prog_line(const struct gpubpf_prog *prog, uint32_t pc);

#endif
