/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the facts that the writer of a twin needs about the instructions of a kernel, and of the functions in the
 * kernel's section. A kernel with an unknown instruction or attribute is refused; nothing is guessed.
 *
 * Does:     decodes every instruction. Records the exits, the instructions that jumps may reach, the barriers and the
 *           reads of __constant__ variables.
 * Before:   sass_cubin_open() has validated the image.
 * After:    struct sass_code describes the kernel; the kernel's bytes are unchanged.
 * Requires: the tables in backends/cuda/sass/isa/isa.def.
 */
#ifndef GPUBPF_SASS_CODE_H
#define GPUBPF_SASS_CODE_H

#include "backends/cuda/sass/cubin/cubin.h"
#include "backends/cuda/sass/isa/effects.h"

struct gpubpf_diag;

/* Flags of an instruction. ENTERED: control may reach the instruction in another way than by falling through.
 * RELOCATED: the driver patches the instruction. */
enum sass_entered { SASS_ENTERED = 1, SASS_RELOCATED = 2 };

struct sass_code {
	const struct sass_arch *arch;
	struct sass_insn *insns; /* malloc'd: the instructions, decoded */
	uint32_t n;              /* number of instructions, including padding */
	uint32_t *exits, nexits; /* malloc'd: indices of the EXIT instructions */
	uint32_t *constants,
		nconstants; /* malloc'd: instructions that read __constant__ variables (backends/cuda/sass/isa/constant.h) */
	uint32_t constants_size;   /* size in bytes of all __constant__ variables */
	uint8_t *entered;          /* malloc'd: flags of each instruction (enum sass_entered) */
	bool jumps;                /* the targets of some jumps are unknown, so control may enter any instruction */
	uint32_t maxreg;           /* the smallest number of registers that a USETMAXREG leaves to a thread; 0: there
	                            * is no USETMAXREG */
	bool calls, by_pointer;    /* calls: the kernel calls functions in other sections (callees.h). by_pointer: it
	                            * calls functions through pointers. */
	bool barrier;              /* the kernel or a callee waits for other threads of its block or cluster */
	bool slow_predicates;      /* the kernel or a callee may write a predicate with variable latency */
	unsigned barriers_used;    /* convergence barriers that the kernel uses, as bits */
	uint32_t begin;            /* index of the first instruction after the preamble (sass_preamble()) */
	bool entry_is_relocatable; /* the first instruction can execute at another address, and no branch leads to it */
	uint32_t entry_limit;      /* index of the last instruction that the branch to the entry probe may replace.
	                            * The instructions before it only read and move registers and write no predicate.
	                            * It is `begin` if the probe cannot run later. */
	uint32_t tail;             /* index of the last EXIT, if that EXIT is unconditional and no code after it ever
	                            * executes; else SASS_NONE */
};

static inline struct sass_insn sass_code_at(const struct sass_code *code, uint32_t i)
{
	return code->insns[i];
}

/* May the entry probe execute after this instruction, which is one of the first of a kernel? The instruction must be
 * a slow read or a move, write no predicate, and set no reuse flag for the next instruction. */
bool sass_may_precede_entry(struct sass_insn insn);

/* Reads the code of a kernel. Returns 0; -EINVAL with the reason in *diag why it cannot have a twin; -ENOMEM. After
 * success the caller calls sass_code_finish(). */
int sass_code_read(const struct sass_cubin *cubin, const struct sass_kernel *kernel, struct sass_code *code,
		   struct gpubpf_diag *diag);
void sass_code_finish(struct sass_code *code);

/* Reserves instruction `at` for an instruction probe. The entry and exit probes then replace another instruction
 * where they can. The caller passes the instructions in order from the last to the first. */
void sass_code_reserve(struct sass_code *code, uint32_t at);

#endif
