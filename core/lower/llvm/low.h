/* SPDX-License-Identifier: Apache-2.0 */
/* Declares the functions of the lowering to IR that several of its files call. */
#ifndef GPUBPF_LOWER_LLVM_LOW_H
#define GPUBPF_LOWER_LLVM_LOW_H

#include "ir/ir.h"

/* site.c */
int low_site(struct low *l, uint32_t site);
/* Emits one kernel that can run any site (opts->one_kernel). It must be called after low_site() for all sites. */
void low_one_kernel(struct low *l);

/* env.c */
/*
 * Allocates `size` zeroed bytes on the stack of the current function: a struct gpubpf_env and the operand words after
 * it. Returns the pointer.
 */
LLVMValueRef low_env(struct low *l, uint64_t size);
/* The declarations below are for the inline_env functions of targets. */
/* The values that the programs of a site read. Bit i of args is set if they read argument i. */
struct low_env_reads {
	uint64_t args;
	bool launch, pid, bytes, clock;
	bool marks_launch; /* the device library reads launch and pid, if the device has no grid ids */
};

/*
 * Emits a load of `bytes` (1, 2, 4 or 8) at byte offset `off` of kernel parameter number `param`, zero-extended to i64.
 */
typedef LLVMValueRef low_load_param(struct low *l, uint32_t param, uint32_t off, uint32_t bytes);

void low_env_reads_add(struct low_env_reads *w, const struct gpubpf_lower_job *job, uint32_t site);
/* Stores an i64 or a pointer at offset `off` of the environment. */
void low_env_set(struct low *l, LLVMValueRef env, size_t off, LLVMValueRef v);
/*
 * Loads the twin's global variable `name` of 8 bytes, which the agent writes. The first site that needs the variable
 * defines it.
 */
LLVMValueRef low_env_word(struct low *l, const char *name, unsigned space, LLVMVisibility visibility);
/* Stores the arguments that w->args lists in the environment and, if w->bytes, the parameters' bytes. */
void low_env_arguments(struct low *l, const struct gpubpf_site_desc *site, const struct low_env_reads *w,
		       LLVMValueRef env, low_load_param *load);

/* prog.c */
int low_program(struct low_prog *p);

/* alu.c */
void low_alu(struct low_frame *f, const struct gpubpf_insn *insn);
LLVMValueRef low_condition(struct low_frame *f, const struct gpubpf_insn *insn); /* i1 */
/* Returns the source operand as i64: register src or the immediate. */
LLVMValueRef low_source(struct low_frame *f, const struct gpubpf_insn *insn);

/* stack.c */
int low_stack_cut(struct low_prog *p);
/*
 * Returns the private pointer to the first byte of an access. `ptr` is the program's pointer: its register plus the
 * displacement (i64).
 */
LLVMValueRef low_stack_ptr(struct low_prog *p, const struct gpubpf_access *access, LLVMValueRef ptr);
/*
 * Returns the same pointer as low_stack_ptr(). If `reg` is r10, the pointer is known even if the fact does not name a
 * frame, because r10 points to the current frame.
 */
LLVMValueRef low_stack_ptr_current(struct low_frame *f, const struct gpubpf_access *access, int reg, LLVMValueRef ptr);

/* mem.c */
int low_load(struct low_frame *f, uint32_t pc);
int low_store(struct low_frame *f, uint32_t pc);
int low_atomic(struct low_frame *f, uint32_t pc);
/* Load or store `width` bytes at a device address that is a multiple of `align`. The value is an i64. */
LLVMValueRef low_device_load(struct low *l, LLVMValueRef address, unsigned width, unsigned align);
void low_device_store(struct low *l, LLVMValueRef address, LLVMValueRef v, unsigned width, unsigned align);
bool low_is_atomic_add(const struct low_prog *p, uint32_t pc);

/*
 * accumulators.c: emits code that adds v to a register and not to memory at `address`, which is the address of the
 * instruction's access. The register is flushed to memory later. Returns false and emits nothing if this is not
 * possible.
 */
bool low_accumulate(struct low_frame *f, uint32_t pc, LLVMValueRef address, LLVMValueRef v);
/*
 * Emits an add of v like low_accumulate(), for an array that has more values than registers for sums. One register
 * holds the sum for the value of the last add. The library's `function` flushes this sum.
 *
 * Returns NULL and emits nothing if the add cannot be delayed. Otherwise leaves the builder in a block where the caller
 * must emit an add to memory at *address, which may be recomputed, and then a branch to the returned block.
 * uses_near_add: `function` adds through gpubpf_atomic_add_near_*, so the add may also use mode 2.
 */
LLVMBasicBlockRef low_accumulate_last(struct low_frame *f, uint32_t pc, LLVMValueRef *address, LLVMValueRef v,
				      const char *function, bool uses_near_add);

/* ctx.c */
/* Returns `width` bytes at offset `off` of the context as an i64, or NULL and sets a diagnostic. */
LLVMValueRef low_ctx(struct low_prog *p, uint32_t off, unsigned width);

/* Emits bpf_loop() with the function at pc `target` as callback. */
int low_loop(struct low_frame *f, uint32_t pc, uint32_t target);
/*
 * A loop in which a helper calls a function of the program. Code that is built between low_rounds_begin() and
 * low_rounds_end() decides whether there is another iteration, and computes the function's arguments. r0 becomes the
 * number of iterations.
 */
struct low_rounds {
	struct low_frame *f;
	LLVMBasicBlockRef header;
	LLVMValueRef i; /* alloca of the number of iterations so far */
};
int low_rounds_begin(struct low_frame *f, uint32_t pc, struct low_rounds *r);
int low_rounds_end(struct low_rounds *r, uint32_t target, LLVMValueRef more, const LLVMValueRef *args, unsigned n);

/* call.c */
int low_helper(struct low_frame *f, uint32_t pc);

/* share_map_ops.c */
/*
 * Emits a call of the library's operation `op` on a map with this layout, through a function that maps of the same
 * shape share. The n arguments are the environment, GPUBPF_MAP_ARGS, and the operation's own.
 */
LLVMValueRef low_call_shared(struct low *l, const char *op, const struct gpubpf_map_layout *layout,
			     const LLVMValueRef *args, unsigned n);
/* Returns true if fn is not a shared function, or is called only once. Such functions are inlined. */
bool low_shared_has_one_call(LLVMValueRef fn);

/* check.c */
void low_check_begin(struct low_prog *p);
/*
 * Emits a check that the `width` bytes at the address are accessible and, if `aligned`, that the address is aligned. If
 * not, the run ends.
 */
void low_check_access(struct low_frame *f, uint32_t pc, LLVMValueRef address, unsigned width, bool aligned);
void low_check_branch(struct low_frame *f, uint32_t pc); /* emits code that takes one unit from the budget */
/* Emits code that ends the run with status, pc and address. Leaves the builder in a block that has a terminator. */
void low_check_fail(struct low_frame *f, uint32_t pc, unsigned status, LLVMValueRef address);
int low_check_helper(struct low_frame *f, uint32_t pc);
void low_check_depth(struct low_frame *f, uint32_t depth);

/* object_cache.c */
int low_blob_copy(const void *data, size_t size, struct gpubpf_blob *out);
/* Sets *key to the module's cache key. Returns false if the module is not cached. */
bool low_object_cache_key(struct low *l, const char *cpu, struct gpubpf_blob *key);
/* Copies the cached object for a key of low_object_cache_key() to *made. Returns false if there is none. */
bool low_object_cache_find(const struct low *l, const struct gpubpf_blob *key, struct gpubpf_blob *made);
/* Caches a copy of `made`. On success the cache takes the key's memory, and *key becomes empty. */
void low_object_cache_add(const struct low *l, struct gpubpf_blob *key, const struct gpubpf_blob *made);

#endif
