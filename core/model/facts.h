/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts that the verifier proved for each instruction. Lowering relies on nothing else. Where two paths disagree,
 * the fact is the union (spaces, ranges) or the weaker one (alignment, constancy).
 *
 * Pointers in lowered programs. A register has 64 bits. A pointer into device memory (map value, ring record) is its
 * device address. The stack and the context have no address that a program could see. Their pointers are small numbers,
 * far below any device address: GPUBPF_PTR_STACK + (512 * frame) + 512 + offset from that frame's r10, and
 * GPUBPF_PTR_CTX + offset.
 *
 * The frames of the deepest call chain are followed by up to as many frames for keys (member keys). The key that frame
 * i passes to a callback is at the bottom of frame `frames` + i. The program has no r10 for that frame and cannot write
 * it. A map pointer is GPUBPF_PTR_MAP + the map's index in the unit.
 *
 * If an access's fact names one space, lowering accesses the frame's private array, a context field, or device memory
 * directly. If an access may be in either, the code compares the pointer with GPUBPF_PTR_LIMIT.
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
	GPUBPF_SPACE_RECORD = 1 << 3, /* reserved ring-buffer record */
	GPUBPF_SPACE_NULL = 1 << 4,   /* a helper argument that may be NULL */
};

#define GPUBPF_ANY_MAP (-1)
#define GPUBPF_NO_MAP (-2)
#define GPUBPF_ANY_FRAME 0xff

/* memory that an instruction or a helper argument touches */
struct gpubpf_access {
	uint8_t spaces;              /* set of enum gpubpf_space; 0: no memory */
	uint8_t align;               /* proven alignment of the address in bytes: 1, 2, 4, 8 */
	uint8_t frame;               /* STACK: call depth of the frame (or of the key's frame) that the access touches;
				   * GPUBPF_ANY_FRAME if several */
	bool write;                  /* the memory may be written */
	int16_t map;                 /* MAP_VALUE, RECORD: index in the unit, GPUBPF_ANY_MAP if several */
	int32_t off_min, off_max;    /* offset of the first byte touched, lowest and highest, relative to r10 of the
				   * frame (< 0), ctx, value or record */
	uint32_t size_min, size_max; /* number of bytes touched, lowest and highest; equal for loads and stores */
};

enum gpubpf_fact_flags {
	GPUBPF_FACT_REACHED = 1 << 0,       /* some path reaches the instruction */
	GPUBPF_FACT_ALWAYS = 1 << 1,        /* JCOND: every path takes the jump */
	GPUBPF_FACT_NEVER = 1 << 2,         /* JCOND: no path takes the jump */
	GPUBPF_FACT_CONST = 1 << 3,         /* the result in dst (calls: r0) is the number `value` on all paths */
	GPUBPF_FACT_RMW_ADD = 1 << 4,       /* STORE: adds to the value that the same lane just loaded from the same
					  * address, as in *p += x. The load is at `other` */
	GPUBPF_FACT_WARP_UNIFORM = 1 << 5,  /* the result (the condition of a JCOND) is the same in all lanes of a
					     * warp */
	GPUBPF_FACT_BLOCK_UNIFORM = 1 << 6, /* the result is the same in all lanes of a block */
	GPUBPF_FACT_DIVERGENT = 1 << 7,     /* some lanes of a warp may not execute this instruction */
	GPUBPF_FACT_UNUSED = 1 << 8,        /* ATOMIC_FETCH_ADD: nothing reads the fetched value. It is lowered, and
					  * counted in map_use, as ATOMIC_ADD. (Clang turns one into the other by the
					  * same rule, but not all versions do so in the same cases.) */
	GPUBPF_FACT_SAME_ADDRESS = 1 << 9,  /* STORE, ATOMIC: all lanes of a warp that execute it use one address */
};

struct gpubpf_call_facts {
	struct gpubpf_access arg[5]; /* memory behind pointer arguments */
	int16_t map;                 /* index in the unit of the map that the call's argument is; GPUBPF_ANY_MAP if
				       * several, or GPUBPF_NO_MAP */
	bool element;                /* the map is, or may be, an element of a map of maps; then maps[map] is its
				       * prototype, with the same type and sizes */
	uint64_t konst[5];           /* konst[i]: the value of argument i, if it is the same number on all paths */
	uint8_t konst_mask;          /* bit i: konst[i] is valid */
	struct gpubpf_access key;    /* helper 164: the memory of the keys that it passes to the callback */
};

struct gpubpf_insn_facts {
	uint32_t flags;
	uint32_t other;                 /* RMW_ADD: pc of the load of the same value */
	uint64_t value;                 /* CONST: the constant result */
	struct gpubpf_access mem;       /* LOAD, STORE, ATOMIC */
	struct gpubpf_call_facts *call; /* CALL: never NULL when REACHED */
	uint32_t trips;                 /* back edge: maximum number of times that one activation of the function takes
				       * it; 0: unknown */
};

/* use of a map's values on a device by the programs of a unit */
enum gpubpf_map_use {
	GPUBPF_USE_LOOKUP = 1 << 0,
	GPUBPF_USE_UPDATE = 1 << 1,
	GPUBPF_USE_DELETE = 1 << 2,
	GPUBPF_USE_READ = 1 << 3,     /* values are read */
	GPUBPF_USE_WRITE = 1 << 4,    /* values are written other than by atomic add without fetch */
	GPUBPF_USE_ADD = 1 << 5,      /* values are added to atomically, result unused */
	GPUBPF_USE_OUTPUT = 1 << 6,   /* records are emitted */
	GPUBPF_USE_RMW = 1 << 7,      /* *p += x without an atomic (each also READ and WRITE) */
	GPUBPF_USE_ATOMIC = 1 << 8,   /* atomics whose result is used, or other than add */
	GPUBPF_USE_ADD4 = 1 << 9,     /* some ADD is of 4 bytes */
	GPUBPF_USE_ADD8 = 1 << 10,    /* some ADD is of 8 bytes; a map with both is not replicated */
	GPUBPF_USE_ELEMENT = 1 << 11, /* it may be an element of a map of maps (gpubpf_layout_propagate_use()) */
};

struct gpubpf_warning {
	uint32_t pc;
	bool harmless; /* for information only: the user need not change the program */
	char text[240];
};

struct gpubpf_cost { /* worst case of one run by one lane */
	uint64_t insns, loads, stores, atomics;
	uint64_t event_bytes;
	uint64_t prints;
	uint32_t hot_pc; /* the instruction that contributes most to insns */
};

struct gpubpf_facts {
	struct gpubpf_insn_facts *insn;  /* [prog->ninsns] */
	uint32_t *map_use;               /* [GPUBPF_MAX_MAPS], sets of enum gpubpf_map_use. Has room for all maps,
					 * since a unit may gain maps later */
	uint32_t frames;                 /* frames of the deepest call chain, 1 to 8 */
	uint32_t keys;                   /* frames after these that hold keys: 0 to 7 */
	uint32_t stack;                  /* maximum bytes of stack that a call chain touches */
	uint64_t ctx_args;               /* bit i: arg[i] of the context is read */
	bool ctx_constants;              /* kernel_name, function_name or nargs are read */
	bool ctx_launch, ctx_kernel;     /* launch, kernel are read */
	bool ends_thread;                /* the program calls helper 507 (ends the thread) */
	bool prints;                     /* the program calls helper 6 or 501 (prints) */
	bool clock;                      /* the program calls helper 5 or 502 (reads the clock) */
	bool sm;                         /* the program calls helper 509; only the session reads this */
	bool pid;                        /* the program calls helper 14 or a helper that looks up allocations */
	bool stack_ids;                  /* the program calls helper 27, on all paths with these two numbers: */
	uint8_t stack_skip, stack_depth; /* frames skipped, and maximum frames stored */
	bool allocations;                /* the program calls helper 4, 45, 112 to 115, 523 or 526 */
	bool leaks_ptr;                  /* returns or stores a pointer, or compares pointers of two objects. The kernel
					 * allows it only to privileged programs (verify-corpus) */
	struct gpubpf_cost cost;
	struct gpubpf_warning *warnings;
	uint32_t nwarnings;
};

/* Limits of a target for a program (core/model/limits.def). The proof is the same for all targets. */
struct gpubpf_limits {
	const char *name;
	uint32_t atomic_bytes; /* widest atomic on device memory */
	uint32_t stack;        /* limit on the stack of the deepest call chain, in bytes per thread */
	uint32_t frames;
};

struct gpubpf_verify_opts {
	uint64_t max_cost;         /* limit on instructions that one lane executes. 0: GPUBPF_MAX_INSNS,
				       * UINT64_MAX: no limit */
	uint64_t max_states;       /* limit on instructions that the verifier visits, 0: 1,000,000 */
	bool allow_exit_thread;    /* the place of the program allows helper 507 */
	bool allow_kernel_helpers; /* verdicts only: accepts helpers of flag KERNEL */
	bool allow_ptr_leaks;      /* verdicts only: allows leaks of pointers, as for a privileged program of the
				       * kernel */
	bool any_ctx;              /* verdicts only: the context is that of a kernel kprobe (struct pt_regs) */
	bool plain_mem;            /* r1, r2 are the address and length of a memory block (conformance). Its accesses
				       * have space MAP_VALUE and map GPUBPF_NO_MAP */
	uint64_t mem_size;         /* plain_mem: size of the block in bytes, known and constant */
	const struct gpubpf_limits *limits; /* limits of the selected target; NULL: no target is selected yet */
	/*
	 * Receives the walk as lines without newline, one per call; NULL: no trace. The trace may be long: one line for
	 * each of max_states instructions.
	 */
	void (*trace)(void *arg, const char *line);
	void *trace_arg;
};

/* gpubpf_limits_at() returns NULL past the end, gpubpf_limits_find() NULL for an unknown target. */
const struct gpubpf_limits *gpubpf_limits_at(size_t i);
const struct gpubpf_limits *gpubpf_limits_find(const char *name);
/* Does a verified program fit a target? 0, or -EINVAL and a diagnostic. */
int gpubpf_limits_check(const struct gpubpf_prog *prog, const struct gpubpf_limits *limits, struct gpubpf_diag *diag);
/*
 * Computes the worst case of a warp of `lanes` lanes. Memory operations, events and prints are counted for every lane.
 * An instruction is counted once if lanes never diverge at it, else once per lane.
 */
void gpubpf_cost_warp(const struct gpubpf_prog *prog, uint32_t lanes, struct gpubpf_cost *warp);

/*
 * Proves prog safe. Returns 0 and prog->facts, or -EINVAL and a diagnostic, or -ENOMEM. The facts are one malloc'd
 * block, which gpubpf_facts_destroy() frees. The diagnostic has instruction, source line, register state, rule and
 * remedy. Pure: no I/O, no environment.
 */
int gpubpf_verify(const struct gpubpf_unit *unit, struct gpubpf_prog *prog, const struct gpubpf_verify_opts *opts,
		  struct gpubpf_diag *diag);
void gpubpf_facts_destroy(struct gpubpf_facts *facts);
/*
 * Only for the conformance tool and programs whose accesses are checked at run time (struct gpubpf_lower_job). Fills in
 * only the facts that the program's helpers require. 0 and prog->facts, or -ENOMEM.
 */
int gpubpf_facts_unproven(struct gpubpf_prog *prog);

#endif
