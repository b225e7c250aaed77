/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowers eBPF to LLVM IR and compiles it for a target. The IR is the same for all targets and calls the target's device
 * library, which is bitcode. The library is linked, all functions are inlined into the sites, and the module is
 * optimized and emitted.
 *
 * llvm.c             the stages: library, sites, linking, passes, emission
 *   object_cache.c     cache of objects that LLVM generated
 *   site.c             sites and kernels
 *   prog.c             one program in one site: control flow, sub-programs expanded in line
 *   alu.c              arithmetic and conditions
 *   stack.c            the stack as private arrays, split so that LLVM can promote them to registers
 *   mem.c              loads, stores, atomics
 *   accumulators.c     accumulators: sums that lanes hold in registers until they exit the function
 *   ctx.c              fields of the context
 *   env.c              the environment from which inlined code reads the context
 *   call.c             helper calls
 *   call_args.c        arguments of helpers: private copies of memory
 *   share_map_ops.c    large map operations, as functions that maps share
 *   check.c            checked mode of the conformance tool
 *   ir/                the state of a lowering, and functions that build IR
 *   passes/            passes between lowering and emission
 */
#ifndef GPUBPF_LOWER_LLVM_H
#define GPUBPF_LOWER_LLVM_H

#include <llvm-c/Core.h>

#include "core/target.h"

struct low;

/* Describes an LLVM target: the properties in which targets differ. */
struct gpubpf_llvm_target {
	const char *name;     /* "ptx" */
	const char *features; /* subtarget features */
	const void *library;  /* the device library's bitcode for this target */
	const void *library_end;
	unsigned kernel_cc; /* calling convention of kernels, llvm::CallingConv */
	unsigned site_cc;   /* calling convention of functions that other modules call */
	void (*init)(void); /* registers the target with LLVM; is called before every use */
	/*
	 * For opts->inlined; NULL if the target has no inlined sites. inline_env sets the members that the site's
	 * programs read in env, a zeroed struct gpubpf_env. inline_end emits code that ends a thread (helper 507).
	 */
	void (*inline_env)(struct low *l, uint32_t site, LLVMValueRef env);
	void (*inline_end)(struct low *l);
	bool inline_arguments; /* gpubpf_inline_<site> has a parameter that points to the GPU kernel's arguments */
	bool vendor_optimizes; /* the vendor's compiler optimizes the output, so LLVM's code generator need not */
	/* jump threading is run: it merges a look-up's own branch with the program's test of the result against NULL */
	bool thread_jumps;
	/*
	 * the device has a population count instruction, so a pass replaces the dozen instructions by which eBPF
	 * programs count bits
	 */
	bool counts_bits;
	unsigned stack_space;    /* address space of the stack if the target's pointer types do not show it; else 0 */
	bool object;             /* the output is an object file, unless opts->text requests text */
	bool divides_by_library; /* divisions become calls of the device library (maps/device/divide.h) */
	bool inline_all;         /* map operations are always inlined, because a call would need a stack in memory */
	/* threads have registers but no memory, so a pass promotes arrays to registers where possible */
	bool no_memory;
	bool only_byte_widths; /* LLVM miscompiles integers of widths other than 8, 16, 32 and 64 for this target */
	const char *passes;    /* pipeline of passes that runs last, or NULL */
	void (*optimised)(struct low *l); /* changes the module after all passes; may be NULL */
	const char *module_flag;          /* name of a flag that is added to the module, or NULL */
	unsigned module_flag_value;
};

/* Kind of output of gpubpf_llvm_emit(). */
enum gpubpf_llvm_form {
	GPUBPF_LLVM_FINAL, /* code that the device loads */
	GPUBPF_LLVM_IR,    /* the lowered programs as IR, before the device library is linked (prog dump) */
};

/*
 * Lowers the sites of the job for the target. `cpu` is a name such as "sm_90"; NULL selects the target's default.
 * Returns 0, -ENOMEM, or -EINVAL and sets a diagnostic.
 */
int gpubpf_llvm_emit(const struct gpubpf_llvm_target *target, const char *cpu, const struct gpubpf_lower_job *job,
		     const struct gpubpf_target_opts *opts, enum gpubpf_llvm_form form, struct gpubpf_blob *out,
		     struct gpubpf_diag *diag);

#endif
