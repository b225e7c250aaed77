/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowering to LLVM IR, and LLVM's compilation of it. eBPF becomes target-neutral IR, written against the device
 * library's bitcode for the target. The library is linked, everything is inlined into the sites, optimized, and
 * emitted.
 *
 *   llvm.c             the module: library, sites, linking, passes, emission
 *   object_cache.c     objects that LLVM generated, by the module
 *   site.c             sites and kernels
 *   prog.c             one program in one site: control flow, sub-programs in line
 *   alu.c              arithmetic and conditions
 *   stack.c            the stack as private arrays, split so that LLVM can promote them to registers
 *   mem.c              loads, stores, atomics
 *   accumulators.c     accumulators: sums that lanes hold in registers until they leave the function
 *   ctx.c              fields of the context
 *   env.c              the environment that inlined code reads the context from
 *   call.c             helpers
 *   call_args.c        their arguments: private copies of memory
 *   share_map_ops.c    map operations that are so large that they exist once
 *   check.c            the conformance tool's checked mode
 *   ir/                the state of a lowering, and functions that build IR
 *   passes/            passes between lowering and emission
 */
#ifndef GPUBPF_LOWER_LLVM_H
#define GPUBPF_LOWER_LLVM_H

#include <llvm-c/Core.h>

#include "core/target.h"

struct low;

/* The properties in which LLVM targets differ; const data of each target. */
struct gpubpf_llvm_target {
	const char *name;     /* "ptx" */
	const char *features; /* subtarget features */
	const void *library;  /* the device library's bitcode for this target */
	const void *library_end;
	unsigned kernel_cc; /* calling convention of kernels, llvm::CallingConv */
	unsigned site_cc;   /* calling convention of functions that other modules call */
	void (*init)(void); /* registers the target with LLVM; called before every use */
	/*
	 * opts->inlined: inline_env stores into env, a zeroed struct gpubpf_env, the members that the site's programs
	 * read. inline_end emits the end of a thread (helper 507). NULL: the target has no inlined sites.
	 */
	void (*inline_env)(struct low *l, uint32_t site, LLVMValueRef env);
	void (*inline_end)(struct low *l);
	bool inline_arguments;   /* gpubpf_inline_<site> has a parameter, which points to the kernel's arguments */
	bool vendor_optimizes;   /* the vendor's compiler optimizes the output, so LLVM's machine passes are
				     * skipped */
	bool thread_jumps;       /* runs jump-threading, which makes one branch of a look-up's branch and the
				    * program's test against NULL */
	bool counts_bits;        /* has a population count instruction: recognizes the dozen instructions with
				    * which eBPF programs count bits */
	unsigned stack_space;    /* not 0: address space of the stack, for a target whose pointers do not carry it */
	bool object;             /* output is an object file rather than text, unless opts->text */
	bool divides_by_library; /* divisions call the device library (maps/device/divide.h) */
	bool inline_all;         /* inlines map operations too, because a call would need a stack in memory */
	bool no_memory;          /* threads have registers but no memory: arrays are promoted to registers where
				    * possible */
	bool only_byte_widths;   /* LLVM miscompiles integers of widths other than 8, 16, 32 and 64 for this target */
	const char *passes;      /* pass pipeline that runs last; NULL: none */
	void (*optimised)(struct low *l); /* changes the module after all passes; NULL: nothing to change */
	const char *module_flag;          /* name of a flag that the module gets; NULL: none */
	unsigned module_flag_value;
};

/* The form of the output of gpubpf_llvm_emit(). */
enum gpubpf_llvm_form {
	GPUBPF_LLVM_FINAL, /* the form that the device loads */
	GPUBPF_LLVM_IR,    /* the lowered programs as IR, without the device library (prog dump) */
};

/*
 * Lowers the sites of the job for the target. cpu: "sm_90", NULL for the target's default. 0, -ENOMEM, or
 * -EINVAL and a diagnostic.
 */
int gpubpf_llvm_emit(const struct gpubpf_llvm_target *target, const char *cpu, const struct gpubpf_lower_job *job,
		     const struct gpubpf_target_opts *opts, enum gpubpf_llvm_form form, struct gpubpf_blob *out,
		     struct gpubpf_diag *diag);

#endif
