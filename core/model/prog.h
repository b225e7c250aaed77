/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of loading objects, which every later stage reads: maps, programs, and the unit that holds them. After
 * loading, a unit is immutable except for `facts`, which the verifier fills.
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

/* operations of helpers and of map types: the rows of core/model/ops.def */
enum gpubpf_op {
#define GPUBPF_OP(name, function, use, meaning) GPUBPF_OP_##name,
#include "ops.def"
	GPUBPF_OPS,
};

#define GPUBPF_OP_BIT(op) (1u << (op))

struct gpubpf_op_row {
	const char *function; /* "lookup"; "": the device library has no function on maps for it */
	uint32_t use;         /* a set of enum gpubpf_map_use */
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
	uint32_t number;                    /* BPF_MAP_TYPE_* or 1501.. */
	const char *name;                   /* "HASH" */
	const struct gpubpf_map_impl *impl; /* maps/impl.h; never NULL in the table */
	uint32_t ops;                       /* GPUBPF_OP_BIT() of the operations that programs may use */
	uint32_t flags;                     /* GPUBPF_MAP_* */
	const char *meaning;
};

/* -- the table of map types (maps/registry.c) -- */

/* NULL for a number that is not in map_types.def. */
const struct gpubpf_map_type *gpubpf_map_type_find(uint32_t number);
bool gpubpf_map_type_has(uint32_t number, uint32_t flags); /* the type exists and has one of the flags */
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

/* how widely the result of a helper is the same: in a lane, a warp, a block, ... */
enum gpubpf_level {
	GPUBPF_LEVEL_VARY,
	GPUBPF_LEVEL_LANE, /* the number of the lane or thread */
	GPUBPF_LEVEL_KEY,  /* as uniform as the key argument, provided that an element has the same address in all
			       * lanes */
	GPUBPF_LEVEL_WARP,
	GPUBPF_LEVEL_BLOCK,
};

enum gpubpf_ret {
	GPUBPF_RET_VOID,
	GPUBPF_RET_INT,
	GPUBPF_RET_MAP_VALUE_OR_NULL,
	GPUBPF_RET_RECORD_OR_NULL, /* ring-buffer record of the constant size argument, which the program must
				       * release; or NULL */
};

/* types of helper arguments: the rows of core/model/args.def */
enum gpubpf_arg {
#define GPUBPF_ARG(name, pass, size, shown, meaning) GPUBPF_ARG_##name,
#include "args.def"
	GPUBPF_ARGS,
};

/* how an argument is passed to the device library's function */
enum gpubpf_pass {
	GPUBPF_PASS_NOT,
	GPUBPF_PASS_NUMBER,
	GPUBPF_PASS_IN,    /* a pointer to private bytes, which the function reads */
	GPUBPF_PASS_OUT,   /* a pointer to private bytes, which the function writes */
	GPUBPF_PASS_TEXT,  /* a pointer as with IN, then the number of bytes */
	GPUBPF_PASS_PARAM, /* two numbers: offset of the parameter's bytes (gpubpf_param.bytes_off), and count */
	GPUBPF_PASS_NAMED, /* two numbers: struct gpubpf_param_read of the parameter (core/model/param.h) */
};

/* size of the memory of a pointer argument */
enum gpubpf_arg_size {
	GPUBPF_SIZE_NONE,
	GPUBPF_SIZE_KEY,
	GPUBPF_SIZE_VALUE,
	GPUBPF_SIZE_NEXT,  /* the number in the next argument */
	GPUBPF_SIZE_WORD,  /* 8 bytes */
	GPUBPF_SIZE_KNOWN, /* proven by the verifier: size_max of its facts */
};

struct gpubpf_arg_row {
	enum gpubpf_pass pass;
	enum gpubpf_arg_size size;
};
const struct gpubpf_arg_row *gpubpf_arg_row(enum gpubpf_arg arg);

struct gpubpf_helper {
	uint32_t id;
	const char *name; /* "map_lookup_elem" */
	enum gpubpf_helper_class class;
	enum gpubpf_op op;
	enum gpubpf_level level;
	enum gpubpf_ret ret;
	enum gpubpf_arg arg[5];
	const char *meaning;
};
/* Can a program that gpubpf runs call the helper? False for helpers that only the verifier knows. */
static inline bool gpubpf_helper_runs(const struct gpubpf_helper *helper)
{
	return helper->class != GPUBPF_CLASS_KERNEL;
}
/*
 * Returns the kind of argument i, from 0. `type` is that of the call's map, NULL if the call uses no map. With a map
 * type of flag ASKED, the helper reads an argument that it fills with other map types.
 */
enum gpubpf_arg gpubpf_helper_arg(const struct gpubpf_helper *helper, int i, const struct gpubpf_map_type *type);
/*
 * Returns the position, from 1, of the argument that is a map, a parameter of the kernel, or a parameter's name. 0:
 * none.
 */
uint32_t gpubpf_helper_map_arg(const struct gpubpf_helper *helper);
uint32_t gpubpf_helper_param_arg(const struct gpubpf_helper *helper);
uint32_t gpubpf_helper_name_arg(const struct gpubpf_helper *helper);
/* Returns the helper that an instruction calls. NULL: it calls none, or one that is not in helpers.def. */
const struct gpubpf_helper *gpubpf_insn_helper(const struct gpubpf_insn *insn);
/*
 * The number of the call by which libbpf replaces an instruction whose CO-RE relocation failed (bpf_core_poison_insn in
 * its relo_core.c). Such a call is legal if no path reaches it.
 */
#define GPUBPF_CORE_POISON 195896080
/* NULL for a number that is not in helpers.def. */
const struct gpubpf_helper *gpubpf_helper_find(uint32_t id);
/* The i-th row of helpers.def, NULL past the end. */
const struct gpubpf_helper *gpubpf_helper_at(size_t i);
/* Lists the numbers of all helpers that programs on a GPU can call: "1 to 3, 5". */
void gpubpf_helper_list(char *buf, size_t size);

/* an initial element of a map of maps or of programs */
struct gpubpf_map_element {
	uint32_t key, map; /* index in the unit of the map that is the element; for a map of programs,
					 * the program's number - 1 */
};

/* a program that a PROG_ARRAY may contain */
struct gpubpf_map_target {
	uint32_t number; /* the program's position in its object, from 1 */
	bool named;      /* the map's definition names it */
	char name[64];
};

/* one map of a unit */
struct gpubpf_map {
	char name[64];
	const struct gpubpf_map_type *type;
	uint32_t key_size, value_size; /* bytes. A ring's key size is 0. Map type 1527: value_size is the maximum
					 * size of a record */
	uint32_t max_entries;
	uint32_t map_flags; /* BPF_F_*, from the definition */
	uint64_t map_extra; /* from the definition. For a BLOOM_FILTER the number of hash functions */
	uint32_t place;     /* enum gpubpf_placement + 1, from map_flags; 0: none specified */
	bool rdonly;        /* frozen .rodata: the program can only read it, `init` is its content */
	bool scratch;       /* GPUBPF_SCRATCH: only this unit's programs use its values */
	bool few;           /* GPUBPF_FEW: only few threads write to this ring */
	bool global_data;   /* .data, .bss, .rodata: one value, addressed directly */
	bool prototype;     /* the prototype of a map of maps' elements: it has no memory, and users do not
					 * see it */
	uint32_t inner;     /* map of maps: 1 + the index of its elements' prototype in the unit; else 0 */
	struct gpubpf_map_element *elements; /* [nelements] initial elements of a map of maps or programs, owned;
					      * NULL: none */
	uint32_t nelements;
	struct gpubpf_map_target *targets; /* [ntargets] programs that a map of programs may hold, owned. NULL: none */
	uint32_t ntargets;
	const void *init;                   /* initial content: value_size bytes for global data, else NULL */
	uint32_t btf_key, btf_value;        /* BTF type ids in the object's BTF, 0 if none */
	const struct gpubpf_stacks *stacks; /* for a STACK_TRACE: its known stacks (maps/host/stacks.h). NULL: none */
	int kernel;                         /* 1 + the descriptor of the Linux kernel's array that holds its values; 0:
					 * none */
	int object;                         /* index in the session of the object that defines it */
	struct gpubpf_session *session;     /* the session that holds its values (libgpubpf); NULL: none */
};

struct gpubpf_line {
	uint32_t pc;
	uint32_t line, column;
	const char *file, *text;
};

/* a function of a program: the program itself is func[0]; sub-programs follow in address order */
struct gpubpf_func {
	uint32_t first, count; /* instructions */
	char name[64];
};

struct gpubpf_prog {
	char name[64]; /* C name of the function */
	char section[128];
	char pattern[256]; /* name or glob that it matches places with; --attach may have replaced the
					 * section's */
	enum gpubpf_site site;
	struct gpubpf_insn *insns;
	uint32_t ninsns;
	struct gpubpf_func *funcs;
	uint32_t nfuncs;
	struct gpubpf_line *lines; /* sorted by pc; may be empty */
	uint32_t nlines;
	int object;
	struct gpubpf_facts *facts;     /* NULL until verified */
	struct gpubpf_session *session; /* the session that has loaded it (libgpubpf); NULL: none */
};

#define GPUBPF_MAX_MAPS 256   /* maps of a unit; an arena's table has as many rows */

/* May `map` be an element of a map of maps with this prototype: are type and sizes equal? */
bool gpubpf_map_is_like(const struct gpubpf_map *map, const struct gpubpf_map *prototype);

struct gpubpf_unit {
	struct gpubpf_map *maps;
	uint32_t nmaps;
	struct gpubpf_prog *progs;
	uint32_t nprogs;
};

/* Returns the source line of the instruction at pc; NULL if unknown. */
const struct gpubpf_line *gpubpf_prog_line(const struct gpubpf_prog *prog, uint32_t pc);

#endif
