/* SPDX-License-Identifier: Apache-2.0 */
/* Private to core/lower/llvm: the state of a lowering, and the functions that the files call in each other. */
#ifndef GPUBPF_LOWER_LLVM_LOW_H
#define GPUBPF_LOWER_LLVM_LOW_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "core/model/diag.h"
#include "core/wire/pool.h"
#include "llvm.h"
#include "maps/device/devlib.h"

/* limit on the instructions of all programs of a site, where sub-programs count once for each call */
#define LOW_MAX_EXPANDED 200000

/* A map operation that is a function, shared by all maps of one shape: share_map_ops.c. */
struct low_shared {
	struct low_shared *next;
	char op[64];            /* name of the library's function */
	const struct gpubpf_map_layout *shape;
	LLVMValueRef fn;
};

/* one module */
#define LOW_MAX_SUMS 8   /* of a job; each occupies two registers of a lane */
#define LOW_MAX_VALUES 4 /* values of an array; each has a sum */
#define LOW_MAX_FIRSTS 4
#define LOW_MAX_WARP_ADDS 8 /* adds of a job that one lane holds for the warp; each occupies a lane at each place */
#define LOW_MAX_KEYS 2   /* of a job; each occupies two registers at each place that lanes may pass again */

struct low {
	const struct gpubpf_lower_job *job;
	const struct gpubpf_target_opts *opts;
	const struct gpubpf_llvm_target *target;
	struct gpubpf_diag *diag;
	struct gpubpf_pool *pool;
	LLVMContextRef ctx;
	LLVMModuleRef mod;      /* the module that is built */
	LLVMModuleRef lib;      /* the device library, not linked yet: signatures come from it */
	LLVMBuilderRef b;       /* builder of the code */
	LLVMTypeRef i1, i8, i32, i64, private, global; /* pointers: to private and to device memory */
	struct low_shared *shared;
	struct low_sum {        /* accumulated in registers */
		uint32_t map, off, width;
	} sums[LOW_MAX_SUMS], keys[LOW_MAX_KEYS]; /* off is 0 in keys */
	uint32_t nsums, nkeys, nkeepers;
	uint32_t firsts[LOW_MAX_FIRSTS], nfirsts; /* maps whose first value's address is held in a register */
};

/* A run of stack bytes that accesses touch together. Each run is an array. */
struct low_segment {
	uint32_t start, end;    /* byte range in the whole stack, frame 0 first; start is a multiple of 8 */
	LLVMValueRef array;
};

struct low_stack {
	uint32_t frames;
	struct low_segment *segs;
	uint32_t nsegs;
	uint16_t *seg_of;       /* [512 * frames]: index, or UINT16_MAX */
};

/* one program in one site */
struct low_prog {
	struct low *l;
	const struct gpubpf_site_desc *site;
	const struct gpubpf_prog *prog;
	uint32_t index;         /* index of the program in the unit */
	LLVMValueRef fn, env;   /* the site's function and its parameter */
	LLVMBasicBlockRef entry; /* of fn: holds the allocas */
	LLVMBasicBlockRef done; /* the program has returned, and *r0 is set */
	LLVMBasicBlockRef ended; /* ends the thread: returns 1 */
	LLVMValueRef r0;        /* alloca */
	struct low_stack stack;
	bool *rmw;              /* [ninsns]: loads whose value a later atomic add needs */
	uint32_t *expanded;     /* instructions expanded so far in the site */
	LLVMValueRef run, mem, frames, budget; /* checked mode: address of the run, bytes of MEM, and two
					     * allocas, bytes of live frames and branches left */
};

/* One activation of one of the program's functions, expanded in line. */
struct low_frame {
	struct low_prog *p;
	uint32_t depth;
	LLVMValueRef reg[GPUBPF_NREGS]; /* allocas of i64 */
	LLVMBasicBlockRef *block;       /* [ninsns]: block that begins there, or NULL */
	LLVMBasicBlockRef ret;          /* target of exit */
	LLVMValueRef *loaded;           /* [ninsns]: alloca with the value of an rmw load */
};

/* llvm.c */
/* Returns the library's function of that name, declared in our module; *type is its type. NULL and a diagnostic. */
LLVMValueRef low_library(struct low *l, const char *name, LLVMTypeRef *type);
/*
 * Calls it. Integers are truncated or zero-extended to the parameter types. Returns NULL if it has no result or failed.
 */
LLVMValueRef low_call(struct low *l, const char *name, const LLVMValueRef *args, unsigned n);
/* Adds an attribute without a value to the function (LLVMAttributeFunctionIndex), or to its parameter at - 1. */
void low_attribute(struct low *l, LLVMValueRef fn, LLVMAttributeIndex at, const char *name);
LLVMValueRef low_const(struct low *l, uint64_t v);      /* i64 */
LLVMValueRef low_const32(struct low *l, uint32_t v);
LLVMTypeRef low_int(struct low *l, unsigned bytes);
LLVMValueRef low_alloca(struct low_prog *p, LLVMTypeRef type, unsigned align, const char *name);
LLVMValueRef low_byte_ptr(struct low *l, LLVMValueRef base, LLVMValueRef index);
LLVMValueRef low_device_ptr(struct low *l, LLVMValueRef address);
LLVMBasicBlockRef low_block(struct low_prog *p, const char *name);

/* site.c */
int low_site(struct low *l, uint32_t site);
/* opts->one_kernel; called after all sites. */
void low_one_kernel(struct low *l);

/* env.c */
/*
 * Returns `size` zeroed bytes on the stack of the function that is being built: a struct gpubpf_env and the words after
 * it.
 */
LLVMValueRef low_env(struct low *l, uint64_t size);
/* for the targets' inline_env: */
/* The values that the programs of a site read. args: one bit for each argument. */
struct low_env_reads {
	uint64_t args;
	bool launch, pid, bytes, clock;
};

/* Loads `bytes` (1, 2, 4 or 8) at `off` of a kernel's parameter, zero-extended to i64. */
typedef LLVMValueRef low_load_param(struct low *l, uint32_t param, uint32_t off, uint32_t bytes);

void low_env_reads_add(struct low_env_reads *w, const struct gpubpf_lower_job *job, uint32_t site);
/* Stores an i64 or a pointer into the environment. */
void low_env_set(struct low *l, LLVMValueRef env, size_t off, LLVMValueRef v);
/* Loads a global word of the twin that the agent writes. The first site that needs the word defines it. */
LLVMValueRef low_env_word(struct low *l, const char *name, unsigned space, LLVMVisibility visibility);
/* Stores the arguments that w lists, and their bytes. */
void low_env_arguments(struct low *l, const struct gpubpf_site_desc *site, const struct low_env_reads *w,
		       LLVMValueRef env, low_load_param *load);

/* prog.c */
int low_program(struct low_prog *p);
LLVMValueRef low_get(struct low_frame *f, unsigned reg);
void low_set(struct low_frame *f, unsigned reg, LLVMValueRef v);

/* alu.c */
void low_alu(struct low_frame *f, const struct gpubpf_insn *insn);
LLVMValueRef low_condition(struct low_frame *f, const struct gpubpf_insn *insn); /* i1 */
/* Returns the register src, or the immediate: i64. */
LLVMValueRef low_source(struct low_frame *f, const struct gpubpf_insn *insn);

/* stack.c */
int low_stack_cut(struct low_prog *p);
/* Returns the private pointer to the first byte of an access. `ptr` is the register plus displacement (i64). */
LLVMValueRef low_stack_ptr(struct low_prog *p, const struct gpubpf_access *access, LLVMValueRef ptr);
/* The same for an access relative to the current frame's r10, also if the fact does not name the frame. */
LLVMValueRef low_stack_ptr_current(struct low_frame *f, const struct gpubpf_access *access, int reg, LLVMValueRef ptr);

/* mem.c */
int low_load(struct low_frame *f, uint32_t pc);
int low_store(struct low_frame *f, uint32_t pc);
int low_atomic(struct low_frame *f, uint32_t pc);
/* Loads or stores width bytes at a device address whose alignment is `align`; the value is an i64. */
LLVMValueRef low_device_load(struct low *l, LLVMValueRef address, unsigned width, unsigned align);
void low_device_store(struct low *l, LLVMValueRef address, LLVMValueRef v, unsigned width, unsigned align);
bool low_is_atomic_add(const struct low_prog *p, uint32_t pc);

/*
 * low_first_value() returns the address of the array's first value on the lane's multiprocessor. low_has_first_register(): does
 * a register of the place's function hold it?
 */
LLVMValueRef low_first_value(struct low_frame *f, uint32_t map);
bool low_has_first_register(struct low_frame *f, uint32_t map);
/*
 * low_has_registers(): can the place's function have registers for its probes? low_read_register() reads such a
 * register of 4 or 8 bytes; low_read_with() reads it through a PTX statement.
 */
bool low_has_registers(const struct low_prog *p);
LLVMValueRef low_read_register(struct low *l, const char *name, unsigned bytes);
LLVMValueRef low_read_with(struct low *l, const char *statement, const char *name, unsigned bytes);
/*
 * accumulators.c: accumulates v in a register and flushes it later, for the address of the instruction's access. false:
 * not possible.
 */
bool low_accumulate(struct low_frame *f, uint32_t pc, LLVMValueRef address, LLVMValueRef v);
/*
 * The same for an array with more values than there are accumulators. One register holds the sum of the last value that
 * was added to. `function` of the library flushes it.
 *
 * Returns NULL if the add cannot be delayed anywhere. Otherwise the builder is at the block that adds at once. *address
 * may be recomputed there, and the caller must branch from it to the returned block. told: v may be uniform
 * (low_is_place_const()).
 */
LLVMBasicBlockRef low_accumulate_last(struct low_frame *f, uint32_t pc, LLVMValueRef *address, LLVMValueRef v, const char *function,
				bool told);

/* place_const.c */
/*
 * Returns an i32: is v (i64) computed only from constants of the place's text? 0: no. NULL: the place has no registers.
 */
LLVMValueRef low_is_place_const(struct low_frame *f, LLVMValueRef v);
/* Marks the call: its result is a constant of the place's text if %gpubpf_told is 1. */
void low_mark_place_const(struct low *l, LLVMValueRef given);
/* Resolves the calls of low_is_place_const(), after the passes. Returns true if there were any. */
bool low_resolve_place_consts(struct low *l);

/* nvptx_activemask_cse.c */
/* Marks the call: its result is uniform over the lanes that execute it. */
void low_mark_uniform(struct low *l, LLVMValueRef given);
/* PTX, after the passes: removes reads of the active mask where the lanes have not diverged since the last read. */
void low_reuse_active_masks(struct low *l);

/*
 * branch_mask.c: returns the mask of lanes that take a branch (i64), among the active ones. A test for divergence of it
 * is answered in a cheaper way.
 */
LLVMValueRef low_branch_taken_mask(struct low *l, LLVMValueRef lanes, LLVMValueRef active);
/* Resolves the calls of low_branch_taken_mask(), after the passes. Returns true if there were any. */
bool low_resolve_taken_masks(struct low *l);

/* combine_adds.c */
/* Records an add of v at the address, to be combined with other adds to adjacent words. false: not possible. */
bool low_defer_add(struct low_frame *f, uint32_t pc, LLVMValueRef address, LLVMValueRef v);
/* Emits the recorded adds, after the passes. */
int low_combine_adds(struct low *l);

/* ctx.c */
/* Returns width bytes at offset off of the context: i64. NULL and a diagnostic. */
LLVMValueRef low_ctx(struct low_prog *p, uint32_t off, unsigned width);

/* Emits the calls of the function at `target` for helper loop. */
int low_loop(struct low_frame *f, uint32_t pc, uint32_t target);
/*
 * The iterations in which a helper calls a function. The code built between low_rounds_begin() and low_rounds_end()
 * decides whether there is another iteration and computes its arguments. r0 becomes the number of iterations.
 */
struct low_rounds {
	struct low_frame *f;
	LLVMBasicBlockRef ask;
	LLVMValueRef i;         /* alloca: iterations so far */
};
int low_rounds_begin(struct low_frame *f, uint32_t pc, struct low_rounds *r);
int low_rounds_end(struct low_rounds *r, uint32_t target, LLVMValueRef more, const LLVMValueRef *args, unsigned n);

/* call.c */
int low_helper(struct low_frame *f, uint32_t pc);
/*
 * Arguments of a map operation: the environment, GPUBPF_MAP_ARGS, and the operation's own from LOW_OWN on. LOW_CTL and
 * LOW_DATA locate the map.
 */
#define LOW_CTL 6
#define LOW_DATA 7
#define LOW_OWN 10
/* Writes the layout as the arguments GPUBPF_MAP_ARGS; returns their number. */
unsigned low_map_args(struct low *l, const struct gpubpf_map_layout *layout, LLVMValueRef *args);
/* The same for a map of the unit, in or outside of the arena. layout: the map's own, or a copy changed for one call. */
unsigned low_unit_map(struct low *l, LLVMValueRef env, uint32_t map, const struct gpubpf_map_layout *layout, LLVMValueRef *args);

/* share_map_ops.c */
/*
 * Calls the library's `op` on the map of that layout through the function that maps of its shape share. args: the
 * environment, GPUBPF_MAP_ARGS, and the operation's own; n in all.
 */
LLVMValueRef low_call_shared(struct low *l, const char *op, const struct gpubpf_map_layout *layout,
			     const LLVMValueRef *args, unsigned n);
/* Returns false for a shared function that is called more than once; the others are inlined. */
bool low_shared_has_one_call(LLVMValueRef fn);

/* opt.c */
int low_run_passes(struct low *l, LLVMTargetMachineRef machine, const char *passes);
int low_optimise(struct low *l, LLVMTargetMachineRef machine);

/* array_to_registers.c */
/* Turns arrays with variable indices into words selected by comparison. 0; -ENOMEM. */
int low_promote_arrays(struct low *l);

/* legalize_overflow.c */
/* Expands llvm.*.with.overflow into plain instructions where LLVM lowers it incorrectly. */
void low_expand_overflows(struct low *l);

/* legalize_int_width.c */
/* Legalizes integers to 8, 16, 32 and 64 bits. 0; -EINVAL and a diagnostic; -ENOMEM. */
int low_legalize_widths(struct low *l);

/* check.c */
void low_check_begin(struct low_prog *p);
/* Continues only if the width bytes at the address are legal, and aligned if `aligned`. Else fails the run. */
void low_check_access(struct low_frame *f, uint32_t pc, LLVMValueRef address, unsigned width, bool aligned);
void low_check_branch(struct low_frame *f, uint32_t pc); /* spends one unit of the budget */
/* Ends the run with status, pc and address. Leaves the builder at a terminated block. */
void low_check_fail(struct low_frame *f, uint32_t pc, unsigned status, LLVMValueRef address);
int low_check_helper(struct low_frame *f, uint32_t pc);
void low_check_depth(struct low_frame *f, uint32_t depth);

/* object_cache.c */
int low_blob_copy(const void *data, size_t size, struct gpubpf_blob *out);
/* Builds the cache key of the module. false: the module is not cached. */
bool low_object_cache_key(struct low *l, const char *cpu, struct gpubpf_blob *key);
/* Copies the cached object for the key. false: none. */
bool low_object_cache_find(const struct gpubpf_blob *key, struct gpubpf_blob *made);
/* Caches a copy of `made`. Takes over the key; if that fails, the key stays the caller's. */
void low_object_cache_add(struct gpubpf_blob *key, const struct gpubpf_blob *made);

#endif
