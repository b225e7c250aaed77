/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts that the verifier proved for each instruction. Lowering relies on nothing else. If two paths have different
 * facts, the stored fact is the union (spaces, ranges) or the weaker fact (alignment, constancy).
 *
 * Pointers in lowered programs have 64 bits. A pointer into device memory (map value, ring record) is its device
 * address. The stack and the context have no address that a program could see, so their pointers are small numbers, far
 * below any device address. A stack pointer is GPUBPF_PTR_STACK + (512 * frame) + 512 + its offset from that frame's
 * r10. A context pointer is GPUBPF_PTR_CTX + offset. A map pointer is GPUBPF_PTR_MAP + the map's index in the unit.
 *
 * A callback of bpf_for_each_map_elem() receives a pointer to a key. Such keys lie in key frames, which follow the
 * frames of the deepest call chain. The members `frames` and `keys` of struct gpubpf_facts are the numbers of frames in
 * the call chain and of key frames. The key that frame i passes to a callback is at the bottom of frame `frames` + i.
 * No r10 points to a key frame, and the program cannot write to it.
 *
 * If the fact for an access has one space, lowering accesses the frame's private array, a context field, or device
 * memory directly. If it has several, the code compares the pointer with GPUBPF_PTR_LIMIT.
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

#define GPUBPF_PTR_STACK 0x1000u /* frame f has the bytes from STACK + 512 f up to STACK + 512 (f + 1) */
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

/* memory that an instruction or a helper call may access through one pointer */
struct gpubpf_access {
	uint8_t spaces; /* set of enum gpubpf_space; 0: no memory is accessed */
	uint8_t align;  /* proven alignment of the address in bytes: 1, 2, 4 or 8 */
	/* for STACK: call depth of the accessed frame or key frame, or GPUBPF_ANY_FRAME if it may be one of several */
	uint8_t frame;
	bool write; /* the memory may be written */
	/* for MAP_VALUE and RECORD: index of the map in the unit, or GPUBPF_ANY_MAP if it may be one of several */
	int16_t map;
	/*
	 * lowest and highest offset of the first accessed byte, relative to the frame's r10 (then < 0), the context,
	 * the value or the record
	 */
	int32_t off_min, off_max;
	uint32_t size_min, size_max; /* lowest and highest number of accessed bytes; equal for loads and stores */
};

enum gpubpf_fact_flags {
	GPUBPF_FACT_REACHED = 1 << 0, /* at least one path reaches the instruction */
	GPUBPF_FACT_ALWAYS = 1 << 1,  /* JCOND: every path takes the jump */
	GPUBPF_FACT_NEVER = 1 << 2,   /* JCOND: no path takes the jump */
	GPUBPF_FACT_CONST = 1 << 3,   /* the result in dst (for calls in r0) is the number `value` on all paths */
	/*
	 * STORE: adds a number to a value in memory, as in *p += x. The same lane loaded the value from the same
	 * address before; `other` is the load.
	 */
	GPUBPF_FACT_RMW_ADD = 1 << 4,
	/* the result, or the condition of a JCOND, is the same in all lanes of a warp */
	GPUBPF_FACT_WARP_UNIFORM = 1 << 5,
	GPUBPF_FACT_BLOCK_UNIFORM = 1 << 6, /* the result is the same in all lanes of a block */
	GPUBPF_FACT_DIVERGENT = 1 << 7,     /* not all lanes of a warp may execute this instruction */
	/*
	 * ATOMIC_FETCH_ADD: nothing reads the fetched value, so the instruction is lowered, and counted in map_use, as
	 * ATOMIC_ADD. (Clang replaces some of these instructions itself; which ones depends on its version.)
	 */
	GPUBPF_FACT_UNUSED = 1 << 8,
	/* STORE, ATOMIC: all lanes of a warp that execute the instruction use the same address */
	GPUBPF_FACT_SAME_ADDRESS = 1 << 9,
};

struct gpubpf_call_facts {
	struct gpubpf_access arg[5]; /* for each argument that is a pointer, the memory that the call may access */
	/* index in the unit of the map that is passed, GPUBPF_ANY_MAP for one of several maps, or GPUBPF_NO_MAP */
	int16_t map;
	/*
	 * the map may be an element of a map of maps; then maps[map] is the elements' prototype, with the same type and
	 * sizes
	 */
	bool element;
	uint64_t konst[5];        /* konst[i]: value of argument i, if it is the same number on all paths */
	uint8_t konst_mask;       /* bit i: konst[i] is valid */
	struct gpubpf_access key; /* helper 164: memory of the keys that the helper passes to the callback */
};

struct gpubpf_insn_facts {
	uint32_t flags;
	uint32_t other;                 /* RMW_ADD: pc of the load */
	uint64_t value;                 /* CONST: the constant result */
	struct gpubpf_access mem;       /* LOAD, STORE, ATOMIC */
	struct gpubpf_call_facts *call; /* CALL: not NULL if REACHED is set */
	/* for a back edge: maximum number of times that one call of the function takes it, or 0 if unknown */
	uint32_t trips;
};

/* how the programs of a unit use a map's values on a device */
enum gpubpf_map_use {
	GPUBPF_USE_LOOKUP = 1 << 0,
	GPUBPF_USE_UPDATE = 1 << 1,
	GPUBPF_USE_DELETE = 1 << 2,
	GPUBPF_USE_READ = 1 << 3,     /* values are read */
	GPUBPF_USE_WRITE = 1 << 4,    /* values are written, except by an atomic add whose result is not used */
	GPUBPF_USE_ADD = 1 << 5,      /* values are added to by atomics whose result is not used */
	GPUBPF_USE_OUTPUT = 1 << 6,   /* records are emitted */
	GPUBPF_USE_RMW = 1 << 7,      /* *p += x without an atomic; such an access also sets READ and WRITE */
	GPUBPF_USE_ATOMIC = 1 << 8,   /* atomics whose result is used, or atomics other than add */
	GPUBPF_USE_ADD4 = 1 << 9,     /* an ADD has 4 bytes */
	GPUBPF_USE_ADD8 = 1 << 10,    /* an ADD has 8 bytes; a map with both sizes is not replicated */
	GPUBPF_USE_MAX = 1 << 12,     /* maxima are taken by helper 533 */
	GPUBPF_USE_ELEMENT = 1 << 11, /* the map may be an element of a map of maps (gpubpf_layout_propagate_use()) */
};

struct gpubpf_warning {
	uint32_t pc;
	bool harmless; /* only information: the user need not change the program */
	char text[240];
};

struct gpubpf_cost { /* worst case of one execution of the program by one lane */
	uint64_t insns, loads, stores, atomics;
	uint64_t event_bytes;
	uint64_t prints;
	uint32_t hot_pc; /* pc of the instruction that contributes most to insns */
};

struct gpubpf_facts {
	struct gpubpf_insn_facts *insn; /* [prog->ninsns] */
	/* [GPUBPF_MAX_MAPS]: sets of enum gpubpf_map_use; allocated for all maps, since a unit may gain maps later */
	uint32_t *map_use;
	uint32_t frames;             /* number of frames of the deepest call chain, 1 to 8 */
	uint32_t keys;               /* number of key frames, which follow the frames of the call chain: 0 to 7 */
	uint32_t stack;              /* maximum number of stack bytes that a call chain uses */
	uint64_t ctx_args;           /* bit i: the program reads ctx->arg[i] */
	bool ctx_constants;          /* the program reads ctx->kernel_name, function_name or nargs */
	bool ctx_launch, ctx_kernel; /* the program reads ctx->launch, ctx->kernel */
	bool ends_thread;            /* the program calls helper 507 (ends the thread) */
	bool prints;                 /* the program calls helper 6 or 501 (prints) */
	bool clock;                  /* the program calls helper 5 or 502 (reads the clock) */
	bool marks_launch;           /* the program calls helper 539, which identifies the launch */
	bool sm;                     /* the program calls helper 509; only the session reads this */
	bool pid;                    /* the program calls helper 14 or a helper that looks up allocations */
	/* the program calls helper 27; all calls use the numbers of frames in stack_skip and stack_depth */
	bool stack_ids;
	bool is_run; /* the program's result goes into the block of a direct run (core/wire/direct.h) */
	uint8_t stack_skip, stack_depth; /* number of frames skipped, and maximum number of frames stored */
	bool allocations;                /* the program calls helper 4, 45, 112 to 115, 523 or 526 */
	struct gpubpf_cost cost;
	struct gpubpf_warning *warnings;
	uint32_t nwarnings;
};

/* Limits of a target for a program (core/model/limits.def). The proof of safety is the same for all targets. */
struct gpubpf_limits {
	const char *name;
	uint32_t atomic_bytes; /* size in bytes of the widest atomic on device memory */
	uint32_t stack;        /* maximum stack of the deepest call chain, in bytes per thread */
	uint32_t frames;
};

struct gpubpf_verify_opts {
	/* maximum number of instructions that one lane executes (0: GPUBPF_MAX_INSNS, UINT64_MAX: no limit) */
	uint64_t max_cost;
	uint64_t max_states;    /* maximum number of instructions that the verifier visits; 0: 1,000,000 */
	bool allow_exit_thread; /* the program's place allows helper 507 */
	/* only for verdicts on programs for the Linux kernel: accepts helpers of class KERNEL */
	bool allow_kernel_helpers;
	/* only for verdicts on programs for the Linux kernel: allows leaks of pointers, as for a privileged program */
	bool allow_ptr_leaks;
	/* only for verdicts on programs for the Linux kernel: the context is struct pt_regs, as for a kprobe */
	bool any_ctx;
	/*
	 * for conformance tests: r1 and r2 are the address and length of a memory block. In the facts, accesses to this
	 * block have the space MAP_VALUE and the map GPUBPF_NO_MAP.
	 */
	bool plain_mem;
	uint64_t mem_size;                  /* with plain_mem: size of the block in bytes, a known constant */
	const struct gpubpf_limits *limits; /* limits of the selected target; NULL: no target selected yet */
	/*
	 * Receives the trace of the verifier's walk, one line without newline per call. NULL: no trace. The trace may
	 * be long: one line for each of max_states instructions.
	 */
	void (*trace)(void *arg, const char *line);
	void *trace_arg;
};

/* gpubpf_limits_at() returns NULL past the end; gpubpf_limits_find() returns NULL for an unknown target. */
const struct gpubpf_limits *gpubpf_limits_at(size_t i);
const struct gpubpf_limits *gpubpf_limits_find(const char *name);
/* Checks that a verified program fits a target. Returns 0, or -EINVAL and a diagnostic. */
int gpubpf_limits_check(const struct gpubpf_prog *prog, const struct gpubpf_limits *limits, struct gpubpf_diag *diag);
/*
 * Computes the worst case for a warp of `lanes` lanes. Memory operations, events and prints count for every lane. An
 * instruction counts once if lanes never diverge at it, otherwise once per lane.
 */
void gpubpf_cost_warp(const struct gpubpf_prog *prog, uint32_t lanes, struct gpubpf_cost *warp);

/*
 * Proves that a program is safe. Returns 0 and prog->facts, or -EINVAL and a diagnostic, or -ENOMEM. The facts are one
 * malloc'd block, which gpubpf_facts_destroy() frees. The diagnostic has instruction, source line, register state, rule
 * and remedy. The function does no I/O and reads no environment variables.
 */
int gpubpf_verify(const struct gpubpf_unit *unit, struct gpubpf_prog *prog, const struct gpubpf_verify_opts *opts,
		  struct gpubpf_diag *diag);
void gpubpf_facts_destroy(struct gpubpf_facts *facts);
/*
 * Stores in prog->facts only the facts that the program's helpers require. Only for the conformance tool and for
 * programs whose accesses are checked at run time (struct gpubpf_lower_job). Returns 0 or -ENOMEM.
 */
int gpubpf_facts_unproven(struct gpubpf_prog *prog);

#endif
