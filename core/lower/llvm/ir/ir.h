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

/* maximum instructions of all programs of a site; a sub-program is counted once for each call */
#define LOW_MAX_EXPANDED 200000

/* A map operation as a function that all maps of one shape share: share_map_ops.c. */
struct low_shared {
	struct low_shared *next;
	char op[64]; /* name of the library's function */
	const struct gpubpf_map_layout *shape;
	LLVMValueRef fn;
};

/* limits of one module */
#define LOW_MAX_SUMS 8   /* sums of a job in registers; each occupies two 32-bit registers of a lane */
#define LOW_MAX_VALUES 4 /* values of an array that have a sum each */
#define LOW_MAX_FIRSTS 4
#define LOW_MAX_WARP_ADDS 8 /* adds of a job in mode 2 (accumulators.c); each occupies a lane at each place */
#define LOW_MAX_KEYS 2   /* pairs of registers that cache a map's last value; each occupies two registers at each
			  * place that may be in a loop */

struct low {
	const struct gpubpf_lower_job *job;
	const struct gpubpf_target_opts *opts;
	const struct gpubpf_llvm_target *target;
	struct gpubpf_diag *diag;
	struct gpubpf_pool *pool;
	LLVMContextRef ctx;
	LLVMModuleRef mod; /* the module that is built */
	LLVMModuleRef lib; /* the device library, not linked yet: declarations are copied from it */
	LLVMBuilderRef b;  /* the current position in the code */
	LLVMTypeRef i1, i8, i32, i64, private, global; /* pointer types: to private memory, and to device memory */
	struct low_shared *shared;
	struct low_sum { /* a sum in a register (accumulators.c): index of the map, offset in it, bytes of the
				 * value */
		uint32_t map, off, width;
	} sums[LOW_MAX_SUMS], keys[LOW_MAX_KEYS]; /* keys: maps whose last value is cached; off is 0 */
	uint32_t nsums, nkeys, nwarp_adds;
	uint32_t firsts[LOW_MAX_FIRSTS], nfirsts; /* maps for which a register holds the first value's address */
};

/*
 * A range of stack bytes, each of which some access touches together with its neighbour. Each range becomes an array.
 */
struct low_segment {
	uint32_t start, end; /* byte range in the whole stack, frame 0 first; start is a multiple of 8 */
	LLVMValueRef array;
};

struct low_stack {
	uint32_t frames;
	struct low_segment *segs;
	uint32_t nsegs;
	uint16_t *seg_of; /* [512 * frames]: index in segs of the byte's segment; UINT16_MAX: no access touches
				 * the byte */
};

/* the expansion of one program in one site */
struct low_prog {
	struct low *l;
	const struct gpubpf_site_desc *site;
	const struct gpubpf_prog *prog;
	uint32_t index;          /* index of the program in the unit */
	LLVMValueRef fn, env;    /* the site's function and its parameter */
	LLVMBasicBlockRef entry; /* fn's first block, which holds the allocas */
	LLVMBasicBlockRef done;  /* where the program continues after its exit, with *r0 set */
	LLVMBasicBlockRef ended; /* the block that ends the thread: returns 1 from fn */
	LLVMValueRef r0;         /* alloca with the program's result */
	struct low_stack stack;
	bool *rmw;                             /* [ninsns]: loads whose value a later atomic add needs */
	uint32_t *expanded;                    /* number of instructions expanded so far in the site */
	LLVMValueRef run, mem, frames, budget; /* checked mode: address of the run, number of bytes of MEM, and two
					        * allocas: bytes of live frames, and branches that may still be taken */
};

/* One activation of one of the program's functions, expanded in line. */
struct low_frame {
	struct low_prog *p;
	uint32_t depth;
	LLVMValueRef reg[GPUBPF_NREGS]; /* allocas of i64 */
	LLVMBasicBlockRef *block;       /* [ninsns]: block that begins there, or NULL */
	LLVMBasicBlockRef ret;          /* the block to which exit branches */
	LLVMValueRef *loaded;           /* [ninsns]: alloca with the value of a load in rmw */
};

/* build.c */
/*
 * Returns the library's function of that name, declared in the module that is built; *type is its type. NULL and a
 * diagnostic.
 */
LLVMValueRef low_library(struct low *l, const char *name, LLVMTypeRef *type);
/*
 * Calls a function of the library. Integers are truncated or zero-extended to the parameter types. Returns NULL if the
 * function has no result or the call failed.
 */
LLVMValueRef low_call(struct low *l, const char *name, const LLVMValueRef *args, unsigned n);
/*
 * Adds an attribute without a value to the function or to one of its parameters. at: LLVMAttributeFunctionIndex, or 1 +
 * the parameter's index.
 */
void low_attribute(struct low *l, LLVMValueRef fn, LLVMAttributeIndex at, const char *name);
LLVMValueRef low_const(struct low *l, uint64_t v); /* i64 */
LLVMValueRef low_const32(struct low *l, uint32_t v);
LLVMTypeRef low_int(struct low *l, unsigned bytes);
LLVMValueRef low_alloca(struct low_prog *p, LLVMTypeRef type, unsigned align, const char *name);
LLVMValueRef low_byte_ptr(struct low *l, LLVMValueRef base, LLVMValueRef index);
LLVMValueRef low_device_ptr(struct low *l, LLVMValueRef address);
LLVMBasicBlockRef low_block(struct low_prog *p, const char *name);
/* low_get() and low_set() read and write a register of the program (i64). */
LLVMValueRef low_get(struct low_frame *f, unsigned reg);
void low_set(struct low_frame *f, unsigned reg, LLVMValueRef v);

/* registers.c */
/*
 * low_first_value() returns the address of the array's first value on the lane's multiprocessor.
 * low_has_first_register(): does a register that the injector declares hold that address?
 */
LLVMValueRef low_first_value(struct low_frame *f, uint32_t map);
bool low_has_first_register(struct low_frame *f, uint32_t map);
/*
 * low_has_registers(): can the injector declare registers for the site's probes? low_read_register() reads one of 4 or
 * 8 bytes; low_read_with() reads one through a PTX statement.
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
/* Writes the layout to args, as the arguments GPUBPF_MAP_ARGS; returns their number. */
unsigned low_map_args(struct low *l, const struct gpubpf_map_layout *layout, LLVMValueRef *args);
/*
 * Writes the arguments GPUBPF_MAP_ARGS for a map of the unit, in or outside of the arena. layout: the map's own, or a
 * copy changed for one call.
 */
unsigned low_unit_map(struct low *l, LLVMValueRef env, uint32_t map, const struct gpubpf_map_layout *layout,
		      LLVMValueRef *args);

/* run_passes.c */
/* Runs the pipeline `passes` of LLVM's passes on the module. 0; -EINVAL and a diagnostic. */
int low_run_passes(struct low *l, LLVMTargetMachineRef machine, const char *passes);

#endif
