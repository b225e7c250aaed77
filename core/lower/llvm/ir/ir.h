/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declares the state of a lowering, and functions that build IR. The lowering of instructions and the passes use them.
 */
#ifndef GPUBPF_LOWER_LLVM_IR_H
#define GPUBPF_LOWER_LLVM_IR_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "core/model/diag.h"
#include "core/wire/pool.h"
#include "core/lower/llvm/llvm.h"
#include "maps/device/devlib.h"

/* largest number of instructions of a site's programs, where a sub-program counts once for each call */
#define LOW_MAX_EXPANDED 200000

/* A map operation as a function that maps of the same shape share (share_map_ops.c). */
struct low_shared {
	struct low_shared *next;
	char op[64]; /* name of the library's function */
	const struct gpubpf_map_layout *shape;
	LLVMValueRef fn;
};

/* limits of one module */
#define LOW_MAX_VALUES 4 /* arrays with at most this many values have a sum in a register for each value */

struct low {
	const struct gpubpf_lower_job *job;
	const struct gpubpf_target_opts *opts;
	const struct gpubpf_llvm_target *target;
	struct gpubpf_diag *diag;
	struct gpubpf_pool *pool;
	LLVMContextRef ctx;
	LLVMModuleRef mod; /* the module that is built */
	LLVMModuleRef lib; /* the device library before it is linked; declarations are copied from it */
	LLVMBuilderRef b;  /* builder; its position is where code is emitted */
	/* private, global: types of pointers to private and to device memory */
	LLVMTypeRef i1, i8, i32, i64, private, global;
	struct low_shared *shared;
	/* registers that inlined sites use and the injector declares (accumulators.c, registers.c) */
	struct gpubpf_site_registers registers;
};

/*
 * A range of stack bytes that becomes one array. Two adjacent bytes are in the same range if one access may touch both.
 */
struct low_segment {
	/* range of bytes in the sequence of all stack frames, which begins with frame 0; start is a multiple of 8 */
	uint32_t start, end;
	LLVMValueRef array;
};

struct low_stack {
	uint32_t frames;
	struct low_segment *segs;
	uint32_t nsegs;
	/* [512 * frames]: index in segs of the byte's segment, or UINT16_MAX if no access touches the byte */
	uint16_t *seg_of;
};

/* one program while it is expanded into one site */
struct low_prog {
	struct low *l;
	const struct gpubpf_site_desc *site;
	const struct gpubpf_prog *prog;
	uint32_t index;          /* index of the program in the unit */
	LLVMValueRef fn, env;    /* function of the site, and its parameter */
	LLVMBasicBlockRef entry; /* first block of fn; all allocas are in it */
	/* block at which the code continues after the program's exit; r0 then has the result */
	LLVMBasicBlockRef done;
	LLVMBasicBlockRef ended; /* block that ends the thread: it returns 1 from fn */
	LLVMValueRef r0;         /* alloca of the program's result */
	struct low_stack stack;
	bool *rmw;          /* [ninsns]: true for a load whose value a later atomic add needs */
	uint32_t *expanded; /* number of instructions expanded so far in the site */
	/*
	 * checked mode. run: address of the struct gpubpf_run. mem: number of bytes of MEM. frames, budget: allocas of
	 * the bytes in live stack frames and of the number of branches that may still be taken.
	 */
	LLVMValueRef run, mem, frames, budget;
};

/* One call of a function of the program, expanded in line. */
struct low_frame {
	struct low_prog *p;
	uint32_t depth;
	LLVMValueRef reg[GPUBPF_NREGS]; /* allocas of i64 */
	LLVMBasicBlockRef *block;       /* [ninsns]: block that begins at the instruction, or NULL */
	LLVMBasicBlockRef ret;          /* block to which the function's exit branches */
	LLVMValueRef may_left;          /* alloca of i64: number of further may_goto that do not jump */
	LLVMValueRef *loaded;           /* [ninsns]: for a load with rmw[pc], alloca of the loaded value */
};

/* build.c */
/*
 * Declares the library's function `name` in the module and returns it. Sets *type to its type. Returns NULL and sets a
 * diagnostic if the library lacks the function.
 */
LLVMValueRef low_library(struct low *l, const char *name, LLVMTypeRef *type);
/*
 * Emits a call of a library function. Integer arguments are truncated or zero-extended to the parameters' types.
 * Returns NULL if the function has no result or if there was an error.
 */
LLVMValueRef low_call(struct low *l, const char *name, const LLVMValueRef *args, unsigned n);
/*
 * Adds an attribute without a value to a function or to one of its parameters. `at` is LLVMAttributeFunctionIndex, or 1
 * + the parameter's index.
 */
void low_attribute(struct low *l, LLVMValueRef fn, LLVMAttributeIndex at, const char *name);
LLVMValueRef low_const(struct low *l, uint64_t v); /* i64 */
LLVMValueRef low_const32(struct low *l, uint32_t v);
LLVMTypeRef low_int(struct low *l, unsigned bytes);
LLVMValueRef low_alloca(struct low_prog *p, LLVMTypeRef type, unsigned align, const char *name);
LLVMValueRef low_byte_ptr(struct low *l, LLVMValueRef base, LLVMValueRef index);
LLVMValueRef low_device_ptr(struct low *l, LLVMValueRef address);
LLVMBasicBlockRef low_block(struct low_prog *p, const char *name);
/* Read or write a register of the program (i64). */
LLVMValueRef low_get(struct low_frame *f, unsigned reg);
void low_set(struct low_frame *f, unsigned reg, LLVMValueRef v);

/* registers.c */
/*
 * The function low_first_value() returns the address of the array's first value on the lane's multiprocessor. The
 * function low_has_first_register() returns true if a register that the injector declares has that address.
 */
LLVMValueRef low_first_value(struct low_frame *f, uint32_t map);
bool low_has_first_register(struct low_frame *f, uint32_t map);
/* Copies the module's text to the job's dump, if the dump is for this pass (core/model/passes.def). */
void low_dump(struct low *l, const char *pass);
/*
 * Returns the register of the table for the map, offset and size of `reg`. Adds `reg` if there is none. reg.name is the
 * suffix of the register's name. Returns NULL if the table is full.
 */
const struct gpubpf_acc_register *low_reserve_register(struct gpubpf_acc_register *list, uint32_t *n, uint32_t max,
						       struct gpubpf_acc_register reg);
/*
 * The function low_has_registers() returns true if the injector can declare registers for the site's probes.
 * low_read_register() reads such a register of 4 or 8 bytes; low_read_with() reads it by a PTX statement.
 */
bool low_has_registers(const struct low_prog *p);
LLVMValueRef low_read_register(struct low *l, const char *name, unsigned bytes);
LLVMValueRef low_read_with(struct low *l, const char *statement, const char *name, unsigned bytes);

/* map_args.c */
/*
 * Indices of arguments of a map operation. Argument 0 is the environment, then GPUBPF_MAP_ARGS follow; those at LOW_CTL
 * and LOW_DATA locate the map. The operation's own arguments begin at LOW_OWN.
 */
#define LOW_CTL 6
#define LOW_DATA 7
#define LOW_OWN 10
/* Stores the layout in args, as the arguments GPUBPF_MAP_ARGS. Returns their number. */
unsigned low_map_args(struct low *l, const struct gpubpf_map_layout *layout, LLVMValueRef *args);
/*
 * Stores the arguments GPUBPF_MAP_ARGS for a map of the unit in args and returns their number. The map may be in or
 * outside of the arena. `layout` is the map's own, or a copy that was changed for one call.
 */
unsigned low_unit_map(struct low *l, LLVMValueRef env, uint32_t map, const struct gpubpf_map_layout *layout,
		      LLVMValueRef *args);

/* run_passes.c */
/* Runs a pipeline of LLVM's passes on the module. Returns 0, or -EINVAL and sets a diagnostic. */
int low_run_passes(struct low *l, LLVMTargetMachineRef machine, const char *passes);

#endif
