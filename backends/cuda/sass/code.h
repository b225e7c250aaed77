/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions of a kernel and of the functions that lie in its section: what a twin must know of them. A kernel
 * of which anything is not understood is refused; nothing is guessed.
 */
#ifndef GPUBPF_SASS_CODE_H
#define GPUBPF_SASS_CODE_H

#include "cubin.h"
#include "isa.h"

struct gpubpf_diag;

/* of an instruction: control may come from elsewhere than the one before; the driver fills something into it */
enum sass_entered { SASS_ENTERED = 1, SASS_FILLED = 2 };

struct sass_code {
	const struct sass_arch *arch;
	const uint8_t *bytes;
	uint32_t n;                /* instructions, padding included */
	uint32_t *exits, nexits;   /* malloc'd: indices of EXIT */
	uint32_t *constants, nconstants; /* malloc'd: of what reads __constant__ variables (constant.h), of which there are so */
	uint32_t constants_size;   /* many bytes */
	uint8_t *entered;          /* malloc'd: bits of enum sass_entered */
	bool jumps;                /* control may come anywhere: of some jumps it is not known where they lead */
	uint32_t maxreg;           /* the fewest registers that USETMAXREG leaves a warp's threads, 0: there is none */
	bool calls, by_pointer;    /* it calls functions of other sections (callees.h), by pointers */
	bool barrier;              /* it waits for other threads of its block or cluster */
	bool predicates_late;      /* something of it, or of what it calls, may write a predicate late */
	unsigned barriers_used;    /* its convergence barriers, as bits */
	uint32_t begin;            /* its first instruction, behind what all code for an architecture begins with */
	bool entry_moves;          /* that can be carried out elsewhere, and nothing branches to it */
	uint32_t late_entry;       /* another that can, with nothing but slow reads before it, which write no predicate; or that */
	uint32_t tail;             /* its last EXIT, if that always ends a thread and nothing behind it is ever carried out;
				    * SASS_NONE */
};

static inline struct sass_insn sass_code_at(const struct sass_code *code, uint32_t i)
{
	return sass_read(code->bytes + (size_t)i * SASS_INSN);
}

/* Whether an entry's probe can stand behind the instruction, with which a kernel begins: a slow read or a move, which
 * writes no predicate and keeps no operand for the next one. */
bool sass_may_precede(struct sass_insn insn);

/* The constant bank that the instruction reads, -1 if none. */
int sass_constant_bank(struct sass_insn insn);

/* And where in it, without what an index register adds: bytes. */
uint64_t sass_constant_offset(struct sass_insn insn);

/* 0; -EINVAL and the reason for which the kernel cannot have a twin; -ENOMEM. */
int sass_code_read(const struct sass_cubin *cubin, const struct sass_kernel *kernel, struct sass_code *code,
		   struct gpubpf_diag *diag);
void sass_code_finish(struct sass_code *code);

/* The instruction is to have a probe of its own: no other's begins there where it need not. Called from the last one to the first. */
void sass_code_reserve(struct sass_code *code, uint32_t at);

/* Where in c[0x4] instruction i reads, which reads there: what it says itself, or with the number that the code puts into
 * its register just before. False: that is not plain to see. */
bool sass_reads_address(const struct sass_code *code, uint32_t i, uint64_t *off);

/* One of the addresses in c[0x4], which the driver fills in; its symbol is there. */
bool sass_address_at(const struct sass_cubin *cubin, uint64_t off, struct sass_relocation *address);
/* Each of them: fn's non-zero return ends the walk and is returned. */
int sass_addresses_each(const struct sass_cubin *cubin, int (*fn)(void *arg, const struct sass_relocation *address), void *arg);
/* A function of the driver's that modules of their own can call as well: its state is the context's. */
bool sass_is_system_call(const struct sass_symbol *symbol);

#endif
