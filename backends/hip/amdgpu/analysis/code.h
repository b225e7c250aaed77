/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions of a kernel or a function, as LLVM's disassembler reads them: all that are reachable from its first
 * instruction without entering other functions. Patches are the instructions that a twin must replace.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_CODE_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/hip/amdgpu/isa/access.h"
#include "backends/hip/amdgpu/isa/isa.h"

struct gpubpf_diag;
struct hip_elf;

enum hip_patch_kind {
	HIP_PATCH_END,      /* s_endpgm */
	HIP_PATCH_PC,       /* s_getpc_b64: reads the code's address */
	HIP_PATCH_FAR_JUMP, /* s_setpc_b64: a jump within the kernel, beyond the range of branches */
	HIP_PATCH_DEALLOC,  /* s_sendmsg(MSG_DEALLOC_VGPRS): releases the registers before the end */
	/* with HIP_READ_INSNS only: */
	HIP_PATCH_ACCESS,      /* a memory access */
	HIP_PATCH_BARRIER,     /* a wait at the group's barrier */
	HIP_PATCH_BRANCH,      /* a conditional branch, uniform for the wave */
	HIP_PATCH_NARROW_EXEC, /* lanes diverge: EXEC loses the lanes for which a condition is false */
	HIP_PATCH_CLAUSE,      /* s_clause: a hint that the next instructions form a clause */
	HIP_PATCH_CALL,        /* a call of a known function */
	HIP_PATCH_TAIL,        /* a tail call: the callee returns to the function's caller */
	HIP_PATCH_RETURN,
	/* with HIP_READ_ALL only: */
	HIP_PATCH_JUMP, /* a branch that is no HIP_PATCH_BRANCH */
	HIP_PATCH_OTHER,
};

#define HIP_MAX_REGISTERS 8   /* registers of an instruction that programs can read */

struct hip_patch {
	enum hip_patch_kind kind;
	uint32_t off;         /* bytes from the first instruction of the code; in a twin, from the kernel's first
				    * instruction, since its functions follow it */
	uint64_t address;     /* virtual address in the file */
	uint32_t size;        /* bytes */
	uint32_t line;        /* of the source, if known */
	char reg[2][8];       /* PC: the two registers that it sets */
	bool probed, counted; /* END, in a twin: the exit probe runs here; the waves that end are counted here, to
				    * find the block's last lane */
	uint32_t target;      /* offset of the target: BRANCH, JUMP, FAR_JUMP, and in a twin CALL and TAIL */
	uint64_t callee;      /* CALL, TAIL: the function's address in the file, or UINT64_MAX if it is unknown */
	bool begins_function; /* a function's first instruction */
	bool has_back_branch; /* a branch goes back to the function's first instruction */
	bool at_loop_end;     /* NARROW_EXEC: the remaining lanes branch back to the loop's head; else the removed
				    * lanes branch */
	const char *why;      /* why no probe can run here; NULL: a probe can. See also hip_access.why */
	uint32_t naccesses;   /* ACCESS */
	struct hip_access access[HIP_MAX_ACCESSES];
	char name[32]; /* its opcode, and the registers that it names */
	struct hip_reg registers[HIP_MAX_REGISTERS];
	bool is_insn_place;    /* programs at any instruction (gpu/insn) can run here */
	const char *file;      /* a source line of this file begins here; NULL: none */
	const char *mark;      /* name of the mark at this instruction; NULL: none */
	struct hip_reg marked; /* register with the mark's value */
};

/* bits of a word of the code */
enum hip_word {
	HIP_WORD_BEGINS = 1,       /* a reachable instruction begins here */
	HIP_WORD_INSIDE = 2,       /* a later word of an instruction */
	HIP_WORD_JUMPS = 4,        /* a branch, in whose lower half is the distance in words */
	HIP_WORD_CLAUSE = 8,       /* an instruction that follows another one in a clause */
	HIP_WORD_IN_FAR_JUMP = 16, /* reachable only from the instruction before it */
	HIP_WORD_INDEXED = 32,     /* vector registers are indexed here */
};

struct hip_code {
	uint32_t size;  /* bytes up to the end of the last reachable instruction */
	uint8_t *words; /* enum hip_word of each word */
	struct hip_patch *patches;
	uint32_t npatches;
	bool calls;              /* the code calls functions */
	bool has_indirect_calls; /* it calls functions through pointers */
	uint64_t *callees;       /* known callees, by their addresses in the file, each once */
	uint32_t ncallees;
	bool barrier;                   /* it has a barrier of the group */
	bool matrix;                    /* it has matrix instructions, whose results have a long latency */
	uint32_t scalar, vector, accum; /* for each register file, one more than the highest register that the code
					 * names */
	bool special;                   /* it names flat_scratch or xnack_mask */
};

enum hip_reading {
	HIP_READ_INSNS = 1,     /* read the places of single instructions too */
	HIP_READ_TWIN = 2,      /* accept calls and computed returns, which stubs contain */
	HIP_READ_ALL = 4,       /* with INSNS: all instructions */
	HIP_READ_CALLS = 8,     /* find callees too; with INSNS, also add patches for the calls */
	HIP_READ_FUNCTION = 16, /* read a function, which returns; requires CALLS */
};

/* the location of code */
struct hip_code_at {
	const uint8_t *bytes;
	size_t size, start;        /* `start`: the offset of the first instruction */
	uint64_t address;          /* of byte 0 in the file */
	int descriptor;            /* first of four registers that hold the descriptor of a lane's private memory at
				    * `start`; -1: none */
	const struct hip_elf *elf; /* the code's file, or NULL */
};

/* Reads all reachable instructions. how: enum hip_reading. Returns 0, -ENOMEM, or -EINVAL with the reason why no twin
 * can be made. */
int hip_code_read(const struct hip_isa *isa, bool wave32, uint32_t how, const struct hip_code_at *at,
		  struct hip_code *code, struct gpubpf_diag *diag);
/* Returns the target of a branch with that word at an offset. */
uint32_t hip_code_target(uint32_t off, uint32_t word);
/* Returns true if access i of the instruction, or the instruction itself, is a place of that kind. */
bool hip_patch_is_site(const struct hip_patch *patch, uint32_t i, enum gpubpf_site kind);
/* Returns the patch that begins at an offset, or NULL. */
struct hip_patch *hip_patch_at(const struct hip_code *code, uint32_t off);
void hip_code_finish(struct hip_code *code);

#endif
