/* SPDX-License-Identifier: Apache-2.0 */
/* Private to core/lower/llvm*.c: the state of a lowering, and what the files offer each other. */
#ifndef GPUBPF_LOWER_LLVM_LOW_H
#define GPUBPF_LOWER_LLVM_LOW_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "core/diag.h"
#include "core/wire/pool.h"
#include "llvm.h"
#include "maps/devlib.h"

/* instructions of all programs of a site, sub-programs counted at each call: above it we refuse */
#define LOW_MAX_EXPANDED 200000

/* a map operation as a function of its own, for all maps of one shape: llvm_shared.c */
struct low_shared {
	struct low_shared *next;
	char op[64];            /* the library's function */
	const struct gpubpf_map_layout *shape;
	LLVMValueRef fn;
};

/* one module */
#define LOW_MAX_SUMS 8   /* of a job: each takes two registers of a lane */
#define LOW_MAX_VALUES 4 /* of an array: each has a sum */
#define LOW_MAX_FIRSTS 4
#define LOW_MAX_KEEPERS 8 /* adds of a job that lanes keep for all others; each takes a lane at each place */
#define LOW_MAX_KEYS 2   /* of a job: each takes two registers at each place where lanes come by again */

struct low {
	const struct gpubpf_lower_job *job;
	const struct gpubpf_target_opts *opts;
	const struct gpubpf_llvm_target *target;
	struct gpubpf_diag *diag;
	struct gpubpf_pool *pool;
	LLVMContextRef ctx;
	LLVMModuleRef mod;      /* ours */
	LLVMModuleRef lib;      /* the device library, not linked yet: signatures come from it */
	LLVMBuilderRef b;       /* where code goes */
	LLVMTypeRef i1, i8, i32, i64, private, global; /* pointers: to private and to device memory */
	struct low_shared *shared;
	struct low_sum {        /* kept in registers */
		uint32_t map, off, width;
	} sums[LOW_MAX_SUMS], keys[LOW_MAX_KEYS]; /* off of the latter: 0 */
	uint32_t nsums, nkeys, nkeepers;
	uint32_t firsts[LOW_MAX_FIRSTS], nfirsts; /* maps whose first value stands in a register */
};

/* a run of bytes of the stack that accesses hold together: an array of its own */
struct low_segment {
	uint32_t start, end;    /* bytes of the whole stack, frame 0 first; start is a multiple of 8 */
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
	uint32_t index;         /* of the program in the unit */
	LLVMValueRef fn, env;   /* the site's function and its parameter */
	LLVMBasicBlockRef entry; /* of fn: allocas stand here */
	LLVMBasicBlockRef done; /* the program returned, *r0 is set */
	LLVMBasicBlockRef ended; /* the thread is to end: returns 1 */
	LLVMValueRef r0;        /* alloca */
	struct low_stack stack;
	bool *rmw;              /* [ninsns]: loads whose value an atomic add needs */
	uint32_t *expanded;     /* instructions so far, of the site */
	LLVMValueRef run, mem, frames, budget; /* checked mode: address of the run; bytes of MEM;
					     * allocas: bytes of live frames, branches left */
};

/* one activation of one function of it, expanded in line */
struct low_frame {
	struct low_prog *p;
	uint32_t depth;
	LLVMValueRef reg[GPUBPF_NREGS]; /* allocas of i64 */
	LLVMBasicBlockRef *block;       /* [ninsns]: block that begins there, NULL if none does */
	LLVMBasicBlockRef ret;          /* where exit goes */
	LLVMValueRef *loaded;           /* [ninsns]: alloca with the value of an rmw load */
};

/* llvm.c */
/* The library's function of that name, declared in our module; *type is its type. NULL and a diagnostic. */
LLVMValueRef low_library(struct low *l, const char *name, LLVMTypeRef *type);
/* Call it; integers are cut or zero-extended to what it takes. NULL if it has no result or failed. */
LLVMValueRef low_call(struct low *l, const char *name, const LLVMValueRef *args, unsigned n);
/* An attribute without a value: of the function (LLVMAttributeFunctionIndex), or of its parameter at - 1. */
void low_attribute(struct low *l, LLVMValueRef fn, LLVMAttributeIndex at, const char *name);
LLVMValueRef low_const(struct low *l, uint64_t v);      /* i64 */
LLVMValueRef low_const32(struct low *l, uint32_t v);
LLVMTypeRef low_int(struct low *l, unsigned bytes);
LLVMValueRef low_alloca(struct low_prog *p, LLVMTypeRef type, unsigned align, const char *name);
LLVMValueRef low_byte_ptr(struct low *l, LLVMValueRef base, LLVMValueRef index);
LLVMValueRef low_device_ptr(struct low *l, LLVMValueRef address);
LLVMBasicBlockRef low_block(struct low_prog *p, const char *name);

/* llvm_site.c */
int low_site(struct low *l, uint32_t site);
/* opts->one_kernel, behind all sites. */
void low_one_kernel(struct low *l);

/* llvm_env.c */
/* `size` bytes of zeros, on the stack of the function that is being built: a struct gpubpf_env, and what is behind it */
LLVMValueRef low_env(struct low *l, uint64_t size);
/* for the targets' inline_env: */
/* what the programs of a site ask for; args: a bit each */
struct low_wants {
	uint64_t args;
	bool launch, pid, bytes, clock;
};

/* `bytes` (1, 2, 4 or 8) at `off` of a kernel's parameter, zero-extended to i64 */
typedef LLVMValueRef low_load_param(struct low *l, uint32_t param, uint32_t off, uint32_t bytes);

void low_wants_add(struct low_wants *w, const struct gpubpf_lower_job *job, uint32_t site);
/* Store an i64 or a pointer into the environment. */
void low_env_set(struct low *l, LLVMValueRef env, size_t off, LLVMValueRef v);
/* A word of the twin's own that the agent writes; defined by whichever site comes first. */
LLVMValueRef low_env_word(struct low *l, const char *name, unsigned space, LLVMVisibility visibility);
/* The arguments that are wanted, and their bytes. */
void low_env_arguments(struct low *l, const struct gpubpf_site_desc *site, const struct low_wants *w,
		       LLVMValueRef env, low_load_param *load);

/* llvm_prog.c */
int low_program(struct low_prog *p);
LLVMValueRef low_get(struct low_frame *f, unsigned reg);
void low_set(struct low_frame *f, unsigned reg, LLVMValueRef v);

/* llvm_alu.c */
void low_alu(struct low_frame *f, const struct gpubpf_insn *insn);
LLVMValueRef low_condition(struct low_frame *f, const struct gpubpf_insn *insn); /* i1 */
/* the register src, or the immediate: i64 */
LLVMValueRef low_source(struct low_frame *f, const struct gpubpf_insn *insn);

/* llvm_stack.c */
int low_stack_cut(struct low_prog *p);
/* The private pointer to where an access begins; `ptr` is the register plus displacement (i64). */
LLVMValueRef low_stack_ptr(struct low_prog *p, const struct gpubpf_access *access, LLVMValueRef ptr);
/* The same for an access relative to r10 of the frame itself, whatever the fact says of frames. */
LLVMValueRef low_stack_own(struct low_frame *f, const struct gpubpf_access *access, int reg, LLVMValueRef ptr);

/* llvm_mem.c */
int low_load(struct low_frame *f, uint32_t pc);
int low_store(struct low_frame *f, uint32_t pc);
int low_atomic(struct low_frame *f, uint32_t pc);
/* width bytes at a device address whose alignment is `align`, as i64 and back */
LLVMValueRef low_device_load(struct low *l, LLVMValueRef address, unsigned width, unsigned align);
void low_device_store(struct low *l, LLVMValueRef address, LLVMValueRef v, unsigned width, unsigned align);
bool low_is_atomic_add(const struct low_prog *p, uint32_t pc);

/* Where the lane's multiprocessor has the array's first value; does it stand in a register of the place's function? */
LLVMValueRef low_first_value(struct low_frame *f, uint32_t map);
bool low_has_first(struct low_frame *f, uint32_t map);
/* Can the place's function have registers for its probes? And what such a one holds, of 4 or 8 bytes; a statement may make that of it. */
bool low_has_registers(const struct low_prog *p);
LLVMValueRef low_read_register(struct low *l, const char *name, unsigned bytes);
LLVMValueRef low_read_by(struct low *l, const char *statement, const char *name, unsigned bytes);
/* llvm_sums.c: add v at the address of the instruction's access later, if that can wait. */
bool low_keep(struct low_frame *f, uint32_t pc, LLVMValueRef address, LLVMValueRef v);
/* The same of an array of more values than have a sum each; `function` of the library adds what is not kept any more. Where the builder
 * is then v cannot wait, and what it returns is behind that; the address may be another value there. NULL: nowhere can it. told: v may be
 * every lane's (low_told()). */
LLVMBasicBlockRef low_keep_last(struct low_frame *f, uint32_t pc, LLVMValueRef *address, LLVMValueRef v, const char *function,
				bool told);

/* llvm_told.c */
/* Is v (i64) made of nothing but what the place's text says? i32, 0: no. NULL: it cannot be asked there. */
LLVMValueRef low_told(struct low_frame *f, LLVMValueRef v);
/* The call gives what that text says, if %gpubpf_told. */
void low_mark_told(struct low *l, LLVMValueRef given);
/* Answer, behind the passes; had anybody asked? */
bool low_told_now(struct low *l);

/* llvm_here.c */
/* What the call gives is the same in all lanes that are at it. */
void low_mark_same(struct low *l, LLVMValueRef given);
/* PTX, behind the passes: where lanes ask for those that are active once more, though they have gone nowhere apart, they need not. */
void low_ask_once(struct low *l);

/* llvm_side.c: lanes that take a branch (i64), of those active at it. What asks whether they part is answered in another way. */
LLVMValueRef low_taking(struct low *l, LLVMValueRef lanes, LLVMValueRef active);
/* Answer, behind the passes; had anybody asked? */
bool low_taking_now(struct low *l);

/* llvm_later.c */
/* Add the instruction's constant v at the address, beside what else is added there, if that can be. */
bool low_add_later(struct low_frame *f, uint32_t pc, LLVMValueRef address, LLVMValueRef v);
/* What was to be added later, behind the passes. */
int low_add_now(struct low *l);

/* llvm_ctx.c */
/* width bytes at offset off of the context: i64, NULL and a diagnostic */
LLVMValueRef low_ctx(struct low_prog *p, uint32_t off, unsigned width);

/* Calls of the function at `target` by helper loop. */
int low_loop(struct low_frame *f, uint32_t pc, uint32_t target);
/* Rounds in which a helper calls a function: the code that is built between these asks whether there is one more, and with
 * what. r0 is how many there were. */
struct low_rounds {
	struct low_frame *f;
	LLVMBasicBlockRef ask;
	LLVMValueRef i;         /* alloca: rounds so far */
};
int low_rounds_begin(struct low_frame *f, uint32_t pc, struct low_rounds *r);
int low_rounds_end(struct low_rounds *r, uint32_t target, LLVMValueRef more, const LLVMValueRef *args, unsigned n);

/* llvm_call.c */
int low_helper(struct low_frame *f, uint32_t pc);
/* arguments of a map's operations: the environment, GPUBPF_MAP_ARGS, of which these say where it lies, and its own */
#define LOW_CTL 6
#define LOW_DATA 7
#define LOW_OWN 10
/* the layout as the arguments GPUBPF_MAP_ARGS; returns how many */
unsigned low_map_args(struct low *l, const struct gpubpf_map_layout *layout, LLVMValueRef *args);
/* The same of a map of the unit, wherever it lies; layout: its own, or as it is for one call. */
unsigned low_unit_map(struct low *l, LLVMValueRef env, uint32_t map, const struct gpubpf_map_layout *layout, LLVMValueRef *args);

/* llvm_shared.c */
/* Call the library's `op` on the map of that layout through the function that maps of its shape share. args:
 * the environment, GPUBPF_MAP_ARGS, and n_more others. */
LLVMValueRef low_call_shared(struct low *l, const char *op, const struct gpubpf_map_layout *layout,
			     const LLVMValueRef *args, unsigned n);
/* Of these functions, those that are called once are to be inlined after all. */
bool low_shared_once(LLVMValueRef fn);

/* llvm_opt.c */
int low_run_passes(struct low *l, LLVMTargetMachineRef machine, const char *passes);
int low_optimise(struct low *l, LLVMTargetMachineRef machine);

/* llvm_words.c */
/* Arrays that are accessed at places which vary, as words that are chosen from. 0; -ENOMEM. */
int low_words(struct low *l);

/* llvm_overflow.c */
/* Whether a sum or product is too large is told by plain instructions, where llvm.*.with.overflow is made wrong. */
void low_overflows(struct low *l);

/* llvm_widths.c */
/* Integers of 8, 16, 32 and 64 bits alone. 0; -EINVAL and a diagnostic; -ENOMEM. */
int low_widths(struct low *l);

/* llvm_check.c */
void low_check_begin(struct low_prog *p);
/* Go on only if width bytes at the address may be touched (aligned too, if `aligned`). */
void low_check_access(struct low_frame *f, uint32_t pc, LLVMValueRef address, unsigned width, bool aligned);
void low_check_branch(struct low_frame *f, uint32_t pc); /* one unit of the budget */
/* End the run: status, pc and address. Leaves the builder without a block. */
void low_check_fail(struct low_frame *f, uint32_t pc, unsigned status, LLVMValueRef address);
int low_check_helper(struct low_frame *f, uint32_t pc);
void low_check_depth(struct low_frame *f, uint32_t depth);

/* llvm_kept.c */
int low_blob_copy(const void *data, size_t size, struct gpubpf_blob *out);
/* What a module is known by; false: nothing is kept of it. */
bool low_kept_key(struct low *l, const char *cpu, struct gpubpf_blob *key);
/* What was made of the same one; a copy. */
bool low_kept_find(const struct gpubpf_blob *key, struct gpubpf_blob *made);
/* Keep a copy of what was made; the key is taken, or stays the caller's. */
void low_kept_add(struct gpubpf_blob *key, const struct gpubpf_blob *made);

#endif
