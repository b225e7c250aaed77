/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the files of the lowering to IR call in each other. */
#ifndef GPUBPF_LOWER_LLVM_LOW_H
#define GPUBPF_LOWER_LLVM_LOW_H

#include "ir/ir.h"

/* site.c */
int low_site(struct low *l, uint32_t site);
/* Emits the kernel that can run each site (opts->one_kernel). Call it after all sites. */
void low_one_kernel(struct low *l);

/* env.c */
/*
 * Returns `size` zeroed bytes on the stack of the function that is being built: a struct gpubpf_env and the words after
 * it.
 */
LLVMValueRef low_env(struct low *l, uint64_t size);
/* used by the inline_env of targets: */
/* The values that the programs of a site read. args: bit i is set if they read argument i. */
struct low_env_reads {
	uint64_t args;
	bool launch, pid, bytes, clock;
};

/*
 * Emits a load of `bytes` (1, 2, 4 or 8) at byte offset `off` of kernel parameter number `param`, zero-extended to i64.
 */
typedef LLVMValueRef low_load_param(struct low *l, uint32_t param, uint32_t off, uint32_t bytes);

void low_env_reads_add(struct low_env_reads *w, const struct gpubpf_lower_job *job, uint32_t site);
/* Stores an i64 or a pointer at offset `off` of the environment. */
void low_env_set(struct low *l, LLVMValueRef env, size_t off, LLVMValueRef v);
/* Loads a global word of the twin, which the agent writes. The first site that needs the word defines it. */
LLVMValueRef low_env_word(struct low *l, const char *name, unsigned space, LLVMVisibility visibility);
/* Stores into the environment the arguments that w lists, and the parameters' bytes if w->bytes. */
void low_env_arguments(struct low *l, const struct gpubpf_site_desc *site, const struct low_env_reads *w,
		       LLVMValueRef env, low_load_param *load);

/* prog.c */
int low_program(struct low_prog *p);

/* alu.c */
void low_alu(struct low_frame *f, const struct gpubpf_insn *insn);
LLVMValueRef low_condition(struct low_frame *f, const struct gpubpf_insn *insn); /* i1 */
/* Returns the register src, or the immediate: i64. */
LLVMValueRef low_source(struct low_frame *f, const struct gpubpf_insn *insn);

/* stack.c */
int low_stack_cut(struct low_prog *p);
/*
 * Returns the private pointer to the first byte of an access. `ptr` is the program's register plus displacement (i64).
 */
LLVMValueRef low_stack_ptr(struct low_prog *p, const struct gpubpf_access *access, LLVMValueRef ptr);
/*
 * Returns the private pointer to the first byte of an access relative to the current frame's r10, also if the fact does
 * not name the frame.
 */
LLVMValueRef low_stack_ptr_current(struct low_frame *f, const struct gpubpf_access *access, int reg, LLVMValueRef ptr);

/* mem.c */
int low_load(struct low_frame *f, uint32_t pc);
int low_store(struct low_frame *f, uint32_t pc);
int low_atomic(struct low_frame *f, uint32_t pc);
/* Loads or stores `width` bytes at a device address that is a multiple of `align`; the value is an i64. */
LLVMValueRef low_device_load(struct low *l, LLVMValueRef address, unsigned width, unsigned align);
void low_device_store(struct low *l, LLVMValueRef address, LLVMValueRef v, unsigned width, unsigned align);
bool low_is_atomic_add(const struct low_prog *p, uint32_t pc);

/*
 * accumulators.c: adds v to a register instead of to memory at `address`, the address of the instruction's access; the
 * register is flushed later. false: not possible, and nothing is emitted.
 */
bool low_accumulate(struct low_frame *f, uint32_t pc, LLVMValueRef address, LLVMValueRef v);
/*
 * Adds v like low_accumulate(), to an array with more values than have a sum each: a register holds the sum of the last
 * value that was added to. The library's `function` flushes it.
 *
 * Returns NULL if the add cannot be delayed anywhere. Otherwise the builder is at the block that adds in memory at
 * once. *address may be recomputed there, and the caller must branch from there to the returned block. told: `function`
 * adds through gpubpf_atomic_add_near_*, so the add may also use mode 2.
 */
LLVMBasicBlockRef low_accumulate_last(struct low_frame *f, uint32_t pc, LLVMValueRef *address, LLVMValueRef v,
				      const char *function, bool uses_near_add);

/* ctx.c */
/* Returns `width` bytes at offset `off` of the context as an i64. NULL and a diagnostic. */
LLVMValueRef low_ctx(struct low_prog *p, uint32_t off, unsigned width);

/* Emits the calls of the function at pc `target` by bpf_loop(). */
int low_loop(struct low_frame *f, uint32_t pc, uint32_t target);
/*
 * The loop in which a helper calls a function. The code built between low_rounds_begin() and low_rounds_end() decides
 * whether there is another iteration and computes the function's arguments. r0 becomes the number of iterations.
 */
struct low_rounds {
	struct low_frame *f;
	LLVMBasicBlockRef header;
	LLVMValueRef i; /* alloca with the number of iterations so far */
};
int low_rounds_begin(struct low_frame *f, uint32_t pc, struct low_rounds *r);
int low_rounds_end(struct low_rounds *r, uint32_t target, LLVMValueRef more, const LLVMValueRef *args, unsigned n);

/* call.c */
int low_helper(struct low_frame *f, uint32_t pc);

/* share_map_ops.c */
/*
 * Calls the library's operation `op` on a map with this layout, through the function that maps of its shape share.
 * args: the environment, GPUBPF_MAP_ARGS, and the operation's own; n in all.
 */
LLVMValueRef low_call_shared(struct low *l, const char *op, const struct gpubpf_map_layout *layout,
			     const LLVMValueRef *args, unsigned n);
/* Is the shared function called only once? Such functions are inlined. */
bool low_shared_has_one_call(LLVMValueRef fn);

/* check.c */
void low_check_begin(struct low_prog *p);
/*
 * Emits a check of an access. The code continues only if the `width` bytes at the address are legal, and aligned if
 * `aligned`; otherwise the run ends.
 */
void low_check_access(struct low_frame *f, uint32_t pc, LLVMValueRef address, unsigned width, bool aligned);
void low_check_branch(struct low_frame *f, uint32_t pc); /* spends one unit of the budget */
/* Ends the run with status, pc and address. Leaves the builder at a block with terminator. */
void low_check_fail(struct low_frame *f, uint32_t pc, unsigned status, LLVMValueRef address);
int low_check_helper(struct low_frame *f, uint32_t pc);
void low_check_depth(struct low_frame *f, uint32_t depth);

/* object_cache.c */
int low_blob_copy(const void *data, size_t size, struct gpubpf_blob *out);
/* Returns the module's key in the cache. false: the module is not cached. */
bool low_object_cache_key(struct low *l, const char *cpu, struct gpubpf_blob *key);
/* Copies the cached object for the key. false: none. */
bool low_object_cache_find(const struct gpubpf_blob *key, struct gpubpf_blob *made);
/* Caches a copy of `made`. On success the cache owns the key; otherwise the caller still does. */
void low_object_cache_add(struct gpubpf_blob *key, const struct gpubpf_blob *made);

#endif
