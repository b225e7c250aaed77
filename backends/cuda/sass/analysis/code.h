/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions of a kernel and of the functions in its section, as far as a twin must know them. A kernel with an
 * unknown detail is refused; nothing is guessed.
 *
 * Does:     decodes every instruction and notes exits, entered instructions, barriers and reads of __constant__
 *           variables.
 * Before:   sass_cubin_open() has validated the image.
 * After:    struct sass_code describes the kernel; its bytes are unchanged.
 * Requires: the tables in backends/cuda/sass/isa/isa.def.
 */
#ifndef GPUBPF_SASS_CODE_H
#define GPUBPF_SASS_CODE_H

#include "backends/cuda/sass/cubin/cubin.h"
#include "backends/cuda/sass/isa/effects.h"

struct gpubpf_diag;

/* flags of an instruction: control may reach it other than by falling through; the driver patches it */
enum sass_entered { SASS_ENTERED = 1, SASS_RELOCATED = 2 };

struct sass_code {
	const struct sass_arch *arch;
	const uint8_t *bytes;
	uint32_t n;                /* instructions, padding included */
	uint32_t *exits, nexits;   /* malloc'd: indices of the EXIT instructions */
	uint32_t *constants, nconstants; /* malloc'd: instructions that read __constant__ variables (backends/cuda/sass/analysis/constant.h) */
	uint32_t constants_size;   /* bytes of __constant__ variables */
	uint8_t *entered;          /* malloc'd: flags of enum sass_entered */
	bool jumps;                /* control may enter any instruction: the targets of some jumps are unknown */
	uint32_t maxreg;           /* the fewest registers that USETMAXREG leaves to a thread; 0: there is no
	                            * USETMAXREG */
	bool calls, by_pointer;    /* it calls functions in other sections (backends/cuda/sass/analysis/callees.h); it calls through pointers */
	bool barrier;              /* it waits for other threads of its block or cluster */
	bool slow_predicates;      /* it, or a callee, may write a predicate with variable latency */
	unsigned barriers_used;    /* convergence barriers that it uses, as bits */
	uint32_t begin;            /* its first instruction after the architecture's preamble */
	bool entry_is_relocatable;          /* the first instruction can execute at another address, and nothing branches to
	                            * it */
	uint32_t entry_limit;       /* the last instruction that the entry's probe can replace: before it are only reads
	                            * and moves that write no predicate; else begin */
	uint32_t tail;             /* its last EXIT, if that EXIT is unconditional and no code after it ever executes;
	                            * else SASS_NONE */
};

static inline struct sass_insn sass_code_at(const struct sass_code *code, uint32_t i)
{
	return sass_read(code->bytes + (size_t)i * SASS_INSN);
}

/* Can the entry's probe stand after this instruction of the kernel's start? It must be a slow read or a move, write no
 * predicate, and keep no operand for the next instruction. */
bool sass_may_precede_entry(struct sass_insn insn);

/* 0; -EINVAL and the reason why the kernel cannot have a twin; -ENOMEM. After success the caller calls
 * sass_code_finish(). */
int sass_code_read(const struct sass_cubin *cubin, const struct sass_kernel *kernel, struct sass_code *code,
		   struct gpubpf_diag *diag);
void sass_code_finish(struct sass_code *code);

/* Instruction `at` gets an instruction probe: the probes of the entry and of the exit avoid it where they can. The
 * caller visits the last instruction first. */
void sass_code_reserve(struct sass_code *code, uint32_t at);

#endif
