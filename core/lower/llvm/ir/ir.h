/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a lowering, and functions that build IR in it. The lowering of instructions and the passes share them.
 */
#ifndef GPUBPF_LOWER_LLVM_IR_H
#define GPUBPF_LOWER_LLVM_IR_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "core/model/diag.h"
#include "core/wire/pool.h"
#include "core/lower/llvm/llvm.h"
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

/* build.c */
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
/* Read and write a register of the program. */
LLVMValueRef low_get(struct low_frame *f, unsigned reg);
void low_set(struct low_frame *f, unsigned reg, LLVMValueRef v);

/* registers.c */
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

/* map_args.c */
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

/* run_passes.c */
/* Runs this pipeline of LLVM's passes. 0; -EINVAL and a diagnostic. */
int low_run_passes(struct low *l, LLVMTargetMachineRef machine, const char *passes);

#endif
