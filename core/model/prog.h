/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of loading objects, which every later stage reads: maps, programs, and the unit that holds them. After
 * loading, a unit does not change, except for `facts`, which the verifier fills in.
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
	/* for example "lookup"; "": the device library has no function on maps for this operation */
	const char *function;
	uint32_t use; /* set of enum gpubpf_map_use */
};
const struct gpubpf_op_row *gpubpf_op_row(enum gpubpf_op op);

/* flags of include/gpubpf/map_types.def: GPUBPF_MAP_KEYED and so on */
enum {
#define GPUBPF_MAP_FLAG(name, meaning) GPUBPF_MAP_FLAG_##name,
#include "gpubpf/map_types.def"
};
enum {
#define GPUBPF_MAP_FLAG(name, meaning) GPUBPF_MAP_##name = 1 << GPUBPF_MAP_FLAG_##name,
#include "gpubpf/map_types.def"
};

struct gpubpf_map_type {
	uint32_t number;                    /* BPF_MAP_TYPE_* of the Linux kernel, bpftime's, or gpubpf's own */
	const char *name;                   /* "HASH" */
	const struct gpubpf_map_impl *impl; /* operations of maps/impl.h; never NULL */
	uint32_t ops;                       /* set of GPUBPF_OP_BIT(): the operations that programs may use */
	uint32_t flags;                     /* GPUBPF_MAP_* */
	const char *meaning;
};

/* -- the table of map types (maps/registry.c) -- */

/* Returns the map type with this number, or NULL if it is not in map_types.def. */
const struct gpubpf_map_type *gpubpf_map_type_find(uint32_t number);
/* true if the type exists and has at least one of the flags */
bool gpubpf_map_type_has(uint32_t number, uint32_t flags);
/* Returns row i of map_types.def, or NULL past the end. */
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

/* which lanes get the same result from a helper: one lane, a warp, a block, ... */
enum gpubpf_level {
	GPUBPF_LEVEL_VARY,
	GPUBPF_LEVEL_LANE, /* the result is the number of the lane or thread */
	GPUBPF_LEVEL_KEY,  /* the result is as uniform as the key, if an element has the same address in all lanes */
	GPUBPF_LEVEL_WARP,
	GPUBPF_LEVEL_BLOCK,
};

enum gpubpf_ret {
	GPUBPF_RET_VOID,
	GPUBPF_RET_INT,
	GPUBPF_RET_MAP_VALUE_OR_NULL,
	/* NULL, or a ring-buffer record of the constant size in an argument; the program must submit or discard it */
	GPUBPF_RET_RECORD_OR_NULL,
	/* NULL, or the iterator in r1 as a pointer to a number of 4 bytes that is read-only */
	GPUBPF_RET_NUMBER_OR_NULL,
	GPUBPF_RET_MEM_OR_NULL,   /* NULL, or memory of the constant size in an argument */
	GPUBPF_RET_SLICE_OR_NULL, /* NULL, or memory of a dynptr, of the constant size in an argument */
};

/* types of helper arguments: the rows of core/model/args.def */
enum gpubpf_arg {
#define GPUBPF_ARG(name, pass, size, shown, meaning) GPUBPF_ARG_##name,
#include "args.def"
	GPUBPF_ARGS,
};

/* how the device library's function receives an argument */
enum gpubpf_pass {
	GPUBPF_PASS_NOT,
	GPUBPF_PASS_NUMBER,
	GPUBPF_PASS_IN,    /* a pointer to private bytes that the function reads */
	GPUBPF_PASS_OUT,   /* a pointer to private bytes that the function writes */
	GPUBPF_PASS_TEXT,  /* a pointer as with IN, followed by the number of bytes */
	GPUBPF_PASS_PARAM, /* two numbers: offset (gpubpf_param.bytes_off) and number of the parameter's bytes */
	/* two numbers: the members of struct gpubpf_param_read for the parameter (core/model/param.h) */
	GPUBPF_PASS_NAMED,
	GPUBPF_PASS_COOKIE, /* the number that was set when the program was attached */
};

/* size of the memory to which a pointer argument points */
enum gpubpf_arg_size {
	GPUBPF_SIZE_NONE,
	GPUBPF_SIZE_KEY,
	GPUBPF_SIZE_VALUE,
	GPUBPF_SIZE_NEXT,   /* value of the next argument */
	GPUBPF_SIZE_WORD,   /* 8 bytes */
	GPUBPF_SIZE_ITER,   /* 8 bytes, which the function reads and writes */
	GPUBPF_SIZE_DYNPTR, /* 16 bytes, which the function reads and writes */
	GPUBPF_SIZE_KNOWN,  /* size that the verifier has proven: size_max of its facts */
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
/*
 * Returns true if GPU programs can call the helper. Returns false for helpers that exist only for verdicts on programs
 * for the Linux kernel.
 */
static inline bool gpubpf_helper_runs(const struct gpubpf_helper *helper)
{
	return helper->class != GPUBPF_CLASS_KERNEL;
}
/*
 * Returns the kind of argument i, counted from 0. `type` is the type of the map that the call uses, or NULL. If this
 * type has the flag ASKED, the helper reads an argument that it writes for other map types.
 */
enum gpubpf_arg gpubpf_helper_arg(const struct gpubpf_helper *helper, int i, const struct gpubpf_map_type *type);
/*
 * These functions return the position, counted from 1, of an argument: the map, the number of a kernel parameter, or
 * the name of a kernel parameter. They return 0 if the helper has no such argument.
 */
uint32_t gpubpf_helper_map_arg(const struct gpubpf_helper *helper);
uint32_t gpubpf_helper_param_arg(const struct gpubpf_helper *helper);
uint32_t gpubpf_helper_name_arg(const struct gpubpf_helper *helper);
/* Returns the helper that an instruction calls, or NULL if the instruction calls no helper of helpers.def. */
const struct gpubpf_helper *gpubpf_insn_helper(const struct gpubpf_insn *insn);
/*
 * If a CO-RE relocation fails, libbpf replaces the instruction by a call with this helper number
 * (bpf_core_poison_insn() in libbpf's relo_core.c). The call is legal if no path reaches it.
 */
#define GPUBPF_CORE_POISON 195896080
/* Returns the helper with this number, or NULL if it is not in helpers.def. */
const struct gpubpf_helper *gpubpf_helper_find(uint32_t id);
/* Returns the helper with the name of a kernel function, such as bpf_iter_num_new, or NULL. */
const struct gpubpf_helper *gpubpf_kfunc_find(const char *name);
/* Returns the name of a helper of the Linux kernel, such as "bpf_jiffies64", or NULL. */
const char *gpubpf_linux_name(uint32_t number);
/*
 * Writes the advice of core/model/linux_helpers.def for a helper of the Linux kernel. If `kfunc` is not NULL, it is the
 * name of a kernel function, and the number is ignored. Returns false if there is no advice.
 */
bool gpubpf_linux_advice(uint32_t number, const char *kfunc, char *buf, size_t size);
/* Returns row i of helpers.def, or NULL past the end. */
const struct gpubpf_helper *gpubpf_helper_at(size_t i);
/* Writes the numbers of all helpers that GPU programs can call, as in "1 to 3, 5". */
void gpubpf_helper_list(char *buf, size_t size);

/* an initial element of a map of maps or of programs */
struct gpubpf_map_element {
	/* map: index in the unit of the map that is the element; for a map of programs, the program's number - 1 */
	uint32_t key, map;
};

/* a program that a PROG_ARRAY may contain */
struct gpubpf_map_target {
	uint32_t number; /* the program's position in its object, from 1 */
	bool named;      /* the map's definition contains the program */
	char name[64];
};

/* one map of a unit */
struct gpubpf_map {
	char name[64];
	const struct gpubpf_map_type *type;
	/* in bytes. The key_size of a ring is 0. For map type 1527, value_size is the maximum size of a record */
	uint32_t key_size, value_size;
	uint32_t max_entries;
	uint32_t map_flags; /* BPF_F_* flags of the definition */
	uint64_t map_extra; /* map_extra of the definition; for a BLOOM_FILTER, the number of hash functions */
	uint32_t place;     /* enum gpubpf_placement + 1, from map_flags; 0: no placement is specified */
	bool rdonly;        /* frozen .rodata: programs can only read it, and `init` has its content */
	bool launch_times;  /* GPUBPF_LAUNCH_TIMES: values begin with a struct gpubpf_times of the kernel's launches */
	bool own_keys;      /* GPUBPF_OWN_KEYS: each thread uses only keys that no other thread uses */
	bool scratch;       /* GPUBPF_SCRATCH: only this unit's programs use the map's values */
	bool few;           /* GPUBPF_FEW: only few threads write to the ring */
	bool global_data;   /* .data, .bss, .rodata: one value, addressed directly */
	/* the map only describes the elements of a map of maps; it has no memory, and users do not see it */
	bool prototype;
	uint32_t inner; /* for a map of maps: 1 + the index in the unit of the prototype of its elements; else 0 */
	/* [nelements]: initial elements of a map of maps or programs, owned, or NULL */
	struct gpubpf_map_element *elements;
	uint32_t nelements;
	struct gpubpf_map_target *targets; /* [ntargets]: programs that a map of programs may hold, owned, or NULL */
	uint32_t ntargets;
	const void *init;                   /* initial content: value_size bytes for global data, else NULL */
	uint32_t btf_key, btf_value;        /* BTF type ids in the object's BTF, 0 if none */
	const struct gpubpf_stacks *stacks; /* for a STACK_TRACE: the known stacks (maps/host/stacks.h), or NULL */
	/* 1 + the file descriptor of the Linux kernel's array that holds the map's values; 0: no such array */
	int kernel;
	int object;                     /* index in the session of the object that defines the map */
	struct gpubpf_session *session; /* the session that holds the map's values (libgpubpf), or NULL */
};

struct gpubpf_line {
	uint32_t pc;
	uint32_t line, column;
	const char *file, *text;
};

/* a function of a program. funcs[0] is the program's main function; sub-programs follow in address order */
struct gpubpf_func {
	uint32_t first, count; /* instructions */
	char name[64];
};

/* arguments of gpubpf's own kernel (core/wire/direct.h): bit i is argument i */
#define GPUBPF_DIRECT_ARGS 15

struct gpubpf_prog {
	char name[64]; /* C name of the program's function */
	char section[128];
	/* name or pattern that places must match; --attach may have replaced the pattern of the section */
	char pattern[256];
	enum gpubpf_site site;
	uint64_t cookie; /* number that was set when the program was attached, for helper 174 */
	bool is_run;     /* the program runs only in gpubpf's own kernel (core/wire/direct.h) */
	uint8_t host;    /* enum gpubpf_host_event at which the program runs on the CPU; 0: it runs on a device */
	struct gpubpf_insn *insns;
	uint32_t ninsns;
	struct gpubpf_func *funcs;
	uint32_t nfuncs;
	struct gpubpf_line *lines; /* sorted by pc; may be empty */
	uint32_t nlines;
	int object;
	struct gpubpf_facts *facts;     /* NULL until verified */
	struct gpubpf_session *session; /* the session that loaded the program (libgpubpf), or NULL */
};

#define GPUBPF_MAX_MAPS 256   /* maximum number of maps in a unit, and number of rows in an arena's table of maps */

/* Returns true if `map` may be an element of a map of maps with this prototype, because type and sizes are equal. */
bool gpubpf_map_is_like(const struct gpubpf_map *map, const struct gpubpf_map *prototype);

struct gpubpf_unit {
	struct gpubpf_map *maps;
	uint32_t nmaps;
	struct gpubpf_prog *progs;
	uint32_t nprogs;
};

/* Returns the source line of the instruction at pc, or NULL if unknown. */
const struct gpubpf_line *gpubpf_prog_line(const struct gpubpf_prog *prog, uint32_t pc);

#endif
