/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the verifier proved, for each instruction: the only thing that lowering may rely on. Where two
 * paths disagree the fact is the union (spaces, ranges) or the weaker one (alignment, constancy).
 *
 * Pointers in lowered programs. A register is 64 bits. A pointer into device memory (map value, ring
 * record) is its device address. The stack and the context have no address that a program could see:
 * their pointers are small numbers, GPUBPF_PTR_STACK + (512 * frame) + 512 + offset from that frame's
 * r10, and GPUBPF_PTR_CTX + offset, all far below any device address. Behind the frames that calls can have
 * lie as many others (keys, below): the key that frame i hands a callback is on the bottom of frame `frames` + i,
 * for which the program has no r10 and which it cannot write. A map pointer is
 * GPUBPF_PTR_MAP + the map's index in the unit. Lowering turns an access whose fact names one space
 * straight into an access to the frame's private array, a context field, or device memory; an access
 * that may be either compares with GPUBPF_PTR_LIMIT.
 */
#ifndef GPUBPF_CORE_FACTS_H
#define GPUBPF_CORE_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "insn.h"

struct gpubpf_prog;
struct gpubpf_unit;
struct gpubpf_diag;

#define GPUBPF_PTR_STACK 0x1000u /* the bytes of frame f are [STACK + 512 f, STACK + 512 (f + 1)) */
#define GPUBPF_PTR_CTX   0x4000u
#define GPUBPF_PTR_MAP   0x8000u
#define GPUBPF_PTR_LIMIT 0x10000u

enum gpubpf_space {
	GPUBPF_SPACE_STACK = 1 << 0,
	GPUBPF_SPACE_CTX = 1 << 1,
	GPUBPF_SPACE_MAP_VALUE = 1 << 2,
	GPUBPF_SPACE_RECORD = 1 << 3,   /* reserved ring-buffer record */
	GPUBPF_SPACE_NULL = 1 << 4,     /* a helper argument that may be NULL */
};

#define GPUBPF_ANY_MAP (-1)
#define GPUBPF_NO_MAP (-2)
#define GPUBPF_ANY_FRAME 0xff

/* memory that an instruction or a helper argument touches */
struct gpubpf_access {
	uint8_t spaces;           /* set of enum gpubpf_space; 0: no memory */
	uint8_t align;            /* proven alignment of the address in bytes: 1, 2, 4, 8 */
	uint8_t frame;            /* STACK: call depth of the frame pointed into, or that of a key; or GPUBPF_ANY_FRAME */
	bool write;               /* the memory may be written */
	int16_t map;              /* MAP_VALUE, RECORD: index in the unit, GPUBPF_ANY_MAP if several */
	int32_t off_min, off_max; /* first byte touched, from: r10 of the frame (< 0), ctx, value, record */
	uint32_t size_min, size_max; /* bytes touched from there; equal for loads and stores */
};

enum gpubpf_fact_flags {
	GPUBPF_FACT_REACHED = 1 << 0,    /* some path reaches the instruction */
	GPUBPF_FACT_ALWAYS = 1 << 1,     /* JCOND: taken on every path */
	GPUBPF_FACT_NEVER = 1 << 2,      /* JCOND: on no path */
	GPUBPF_FACT_CONST = 1 << 3,      /* the result in dst (calls: r0) is the number `value` on all paths */
	GPUBPF_FACT_RMW_ADD = 1 << 4,    /* STORE: adds to what the same lane just loaded from the same
					  * address: *p += x; the load is at `other` */
	GPUBPF_FACT_WARP_UNIFORM = 1 << 5,  /* the result is the same in all lanes of a warp */
	GPUBPF_FACT_BLOCK_UNIFORM = 1 << 6, /* and in all of a block */
	GPUBPF_FACT_DIVERGENT = 1 << 7,  /* lanes of a warp may not all be here */
	GPUBPF_FACT_UNUSED = 1 << 8,     /* ATOMIC_FETCH_ADD: nothing reads what it fetches: it is lowered, and
					  * counted in map_use, as ATOMIC_ADD. (clang makes one of the other
					  * by the same rule, versions differ in when.) */
	GPUBPF_FACT_SAME_ADDRESS = 1 << 9, /* STORE, ATOMIC: all lanes of a warp that are here name one address */
};

struct gpubpf_call_facts {
	struct gpubpf_access arg[5];  /* memory behind pointer arguments */
	int16_t map;                  /* the map argument: index, GPUBPF_ANY_MAP, or GPUBPF_NO_MAP */
	bool element;                 /* the map is, or may be, what a look-up in a map of maps gave, and like maps[map] */
	uint64_t konst[5];            /* arguments that are the same number on all paths */
	uint8_t konst_mask;           /* bit i: konst[i] holds */
	struct gpubpf_access key;     /* helper 164: where the keys lie that it hands on */
};

struct gpubpf_insn_facts {
	uint32_t flags;
	uint32_t other;               /* RMW_ADD: pc of the load */
	uint64_t value;               /* CONST */
	struct gpubpf_access mem;     /* LOAD, STORE, ATOMIC */
	struct gpubpf_call_facts *call; /* CALL: never NULL when REACHED */
	uint32_t trips;               /* back edge: most often it is taken in one activation; 0 unknown */
};

/* what the programs of a unit do to a map's values on a device */
enum gpubpf_map_use {
	GPUBPF_USE_LOOKUP = 1 << 0,
	GPUBPF_USE_UPDATE = 1 << 1,
	GPUBPF_USE_DELETE = 1 << 2,
	GPUBPF_USE_READ = 1 << 3,      /* values are read */
	GPUBPF_USE_WRITE = 1 << 4,     /* values are written other than by atomic add without fetch */
	GPUBPF_USE_ADD = 1 << 5,       /* values are added to atomically, result unused */
	GPUBPF_USE_OUTPUT = 1 << 6,    /* records go out */
	GPUBPF_USE_RMW = 1 << 7,       /* *p += x without an atomic (each also READ and WRITE) */
	GPUBPF_USE_ATOMIC = 1 << 8,    /* atomics whose result is used, or other than add */
	GPUBPF_USE_ADD4 = 1 << 9,      /* some ADD is of 4 bytes */
	GPUBPF_USE_ADD8 = 1 << 10,     /* some ADD is of 8 bytes; a map with both is not replicated */
	GPUBPF_USE_ELEMENT = 1 << 11,  /* it may be an element of a map of maps (gpubpf_layout_spread()) */
};

struct gpubpf_warning {
	uint32_t pc;
	bool harmless;                 /* to know, not to change */
	char text[240];
};

struct gpubpf_cost {              /* worst case of one run by one lane */
	uint64_t insns, loads, stores, atomics;
	uint64_t event_bytes;
	uint64_t prints;
	uint32_t hot_pc;              /* where most of insns is spent */
};

struct gpubpf_facts {
	struct gpubpf_insn_facts *insn; /* [prog->ninsns] */
	uint32_t *map_use;              /* [GPUBPF_MAX_MAPS], enum gpubpf_map_use: a unit may gain maps */
	uint32_t frames;                /* frames of the deepest call chain, 1 to 8 */
	uint32_t keys;                  /* and behind them, for keys: 0 to 7 */
	uint32_t stack;                 /* most bytes of stack of a chain that are touched */
	uint64_t ctx_args;              /* bit i: arg[i] of the context is read */
	bool ctx_constants;             /* kernel_name, function_name or nargs are read */
	bool ctx_launch, ctx_kernel;    /* launch, kernel are read */
	bool ends_thread;               /* helper 507 is called */
	bool prints;                    /* helpers 6, 501 */
	bool clock;                     /* helpers 5, 502 */
	bool sm;                        /* helper 509; the session alone reads it */
	bool pid;                       /* helper 14, and those of allocations */
	bool stack_ids;                 /* helper 27, on all paths with the same two: */
	uint8_t stack_skip, stack_depth; /* frames that are left out, and most that are kept */
	bool allocations;    /* helpers 4, 45, 112 to 115, 523, 526 */
	bool leaks_ptr;                 /* returns or stores a pointer, or compares pointers of two objects:
					 * the kernel allows it to the privileged only (verify-corpus) */
	struct gpubpf_cost cost;
	struct gpubpf_warning *warnings;
	uint32_t nwarnings;
};

/* What a target gives a program (core/limits.def); the proof itself is the same for all. */
struct gpubpf_limits {
	const char *name;
	uint32_t atomic_bytes;        /* widest atomic on device memory */
	uint32_t stack;               /* bytes of a thread's deepest call chain */
	uint32_t frames;
};

struct gpubpf_verify_opts {
	uint64_t max_cost;            /* instructions a lane, 0: GPUBPF_MAX_INSNS; UINT64_MAX: no limit */
	uint64_t max_states;          /* instructions walked, 0: 1,000,000 */
	bool allow_exit_thread;       /* helper 507 is allowed by the hook */
	bool allow_kernel_helpers;    /* verdicts only: helpers of flag KERNEL count as known */
	bool allow_ptr_leaks;         /* verdicts only: as a privileged kernel */
	bool any_ctx;                 /* verdicts only: the context is the kernel's of a kprobe */
	bool plain_mem;               /* r1, r2 are the address and length of a memory (conformance); its
				       * accesses have space MAP_VALUE and map GPUBPF_NO_MAP */
	uint64_t mem_size;            /* plain_mem: bytes of it, known and constant */
	const struct gpubpf_limits *limits; /* of the chosen target; NULL: none is chosen yet */
	/* The walk, one line a call without its newline; NULL: not told. May be long: a line for each of
	 * max_states instructions. */
	void (*trace)(void *arg, const char *line);
	void *trace_arg;
};

/* NULL past the end; NULL: there is no target of this name. */
const struct gpubpf_limits *gpubpf_limits_at(size_t i);
const struct gpubpf_limits *gpubpf_limits_find(const char *name);
/* Does a program that was proven fit a target? 0, or -EINVAL and a diagnostic. */
int gpubpf_limits_check(const struct gpubpf_prog *prog, const struct gpubpf_limits *limits, struct gpubpf_diag *diag);
/* The worst case of a warp: memory operations, events and prints of all its lanes; instructions once if its lanes
 * are never apart, else one lane after the other. */
void gpubpf_cost_warp(const struct gpubpf_prog *prog, uint32_t lanes, struct gpubpf_cost *warp);

/* Prove prog safe. 0 and prog->facts (malloc'd as a whole, freed by gpubpf_facts_destroy), or -EINVAL
 * and a diagnostic with instruction, source line, register state, rule and remedy.
 * -ENOMEM as well. Pure: no I/O, no environment. */
int gpubpf_verify(const struct gpubpf_unit *unit, struct gpubpf_prog *prog,
		  const struct gpubpf_verify_opts *opts, struct gpubpf_diag *diag);
void gpubpf_facts_destroy(struct gpubpf_facts *facts);
/* Conformance tool only, of a program each of whose accesses is checked while it is made (struct gpubpf_lower_job): what its
 * helpers ask for, and nothing else. 0 and prog->facts, or -ENOMEM. */
int gpubpf_facts_unproven(struct gpubpf_prog *prog);

#endif
