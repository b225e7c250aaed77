/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowering to LLVM IR and what LLVM makes of it. eBPF becomes target-neutral IR, written against the
 * device library's bitcode for the target; the library is linked, everything is inlined into the sites,
 * optimised, and emitted.
 *
 *   llvm.c         the module: library, sites, linking, passes, emission
 *   llvm_site.c    sites and kernels
 *   llvm_prog.c    one program in one site: control flow, sub-programs in line
 *   llvm_alu.c     arithmetic and conditions
 *   llvm_stack.c   the stack as private arrays, split so that LLVM can make registers of them
 *   llvm_mem.c     loads, stores, atomics
 *   llvm_sums.c    sums that lanes keep until they leave
 *   llvm_later.c   adds to neighbours, by one instruction of a warp
 *   llvm_ctx.c     fields of the context
 *   llvm_env.c     where inlined code finds what the context is made of
 *   llvm_call.c    helpers
 *   llvm_shared.c  operations on maps that are large enough to exist once
 *   llvm_opt.c     passes between lowering and emission
 *   llvm_overflow.c  whether a sum or a product is too large, for SPIR-V
 *   llvm_words.c   arrays in registers, where a thread has no memory of its own
 *   llvm_widths.c  integers of 8, 16, 32 and 64 bits alone
 *   llvm_check.c   the conformance tool's checked mode
 */
#ifndef GPUBPF_LOWER_LLVM_H
#define GPUBPF_LOWER_LLVM_H

#include <llvm-c/Core.h>

#include "core/target.h"

struct low;

/* what differs between targets of LLVM; const data of each target */
struct gpubpf_llvm_target {
	const char *name;          /* "ptx" */
	const char *features;      /* subtarget features */
	const void *library;       /* the device library's bitcode for it */
	const void *library_end;
	unsigned kernel_cc;        /* calling convention of kernels, llvm::CallingConv */
	unsigned site_cc;          /* and of what other modules call */
	void (*init)(void);        /* make LLVM know the target; called before every use */
	/* opts->inlined: store the members of the environment that the site's programs ask for into env, a
	 * zeroed struct gpubpf_env, and say how a thread ends (helper 507). NULL: the target inlines no text */
	void (*inline_env)(struct low *l, uint32_t site, LLVMValueRef env);
	void (*inline_end)(struct low *l);
	bool inline_arguments;     /* gpubpf_inline_<site> has a parameter, so that it gets a kernel's arguments */
	bool optimised_later;      /* the vendor's compiler reads the output and does what machine passes would */
	bool thread_jumps;         /* a look-up and its test against NULL become one branch */
	bool counts_bits;          /* by an instruction: programs do so in a dozen of eBPF's */
	unsigned stack_space;      /* where the stack lies, if its pointers do not say so themselves; else 0 */
	bool object;               /* output is an object file rather than text, unless opts->text */
	bool own_divisions;        /* are the device library's (maps/divide.h) */
	bool inline_all;           /* no functions, operations on maps neither: a call needs a stack in memory */
	bool no_memory;            /* threads have registers alone: arrays become such, as far as that goes */
	bool few_widths;           /* what LLVM makes of integers of other widths than 8, 16, 32 and 64 is wrong */
	const char *passes;        /* run last, NULL none */
	void (*optimised)(struct low *l); /* changes the module behind all of them; NULL: as it is */
	const char *module_flag;   /* a flag of the module, NULL none */
	unsigned module_flag_value;
};

/* what to hand back */
enum gpubpf_llvm_form {
	GPUBPF_LLVM_FINAL,         /* what the device takes */
	GPUBPF_LLVM_IR,            /* the lowered programs as IR, library not linked (prog dump) */
};

/* The sites of the job for the target. cpu: "sm_90", NULL for the target's default.
 * 0; -EINVAL and a diagnostic; -ENOMEM. */
int gpubpf_llvm_emit(const struct gpubpf_llvm_target *target, const char *cpu, const struct gpubpf_lower_job *job,
		     const struct gpubpf_target_opts *opts, enum gpubpf_llvm_form form, struct gpubpf_blob *out,
		     struct gpubpf_diag *diag);

#endif
