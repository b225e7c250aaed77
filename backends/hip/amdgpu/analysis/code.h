/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions of a GPU kernel or function, as LLVM's disassembler reads them. The list has all instructions that
 * are reachable from the first one; it does not follow calls. Patches are the instructions that a twin must replace.
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
	HIP_PATCH_FAR_JUMP, /* s_setpc_b64 at the end of a jump within the kernel to a target too far for a branch */
	HIP_PATCH_DEALLOC,  /* s_sendmsg(MSG_DEALLOC_VGPRS): releases the wave's vector registers before s_endpgm */
	/* the kinds below exist only with HIP_READ_INSNS: */
	HIP_PATCH_ACCESS,      /* a memory access */
	HIP_PATCH_BARRIER,     /* a wait at the work-group's barrier */
	HIP_PATCH_BRANCH,      /* a conditional branch that all lanes of the wave take, or none */
	HIP_PATCH_NARROW_EXEC, /* a divergent branch: removes from EXEC the lanes for which a condition is false */
	HIP_PATCH_CLAUSE,      /* s_clause: tells the hardware to issue the next instructions as a clause */
	HIP_PATCH_CALL,        /* a call of a known function */
	HIP_PATCH_TAIL,        /* a tail call: the callee returns to the function's caller */
	HIP_PATCH_RETURN,
	/* the kinds below exist only with HIP_READ_ALL: */
	HIP_PATCH_JUMP, /* a branch other than HIP_PATCH_BRANCH */
	HIP_PATCH_OTHER,
};

#define HIP_MAX_REGISTERS 8   /* most registers of one instruction that gpu/insn programs can read */

struct hip_patch {
	enum hip_patch_kind kind;
	/* bytes from the start of the code; in a twin, from the kernel's first instruction (functions follow the
	 * kernel) */
	uint32_t off;
	uint64_t address; /* virtual address in the file */
	uint32_t size;    /* bytes */
	uint32_t line;    /* source line, or 0 if unknown */
	char reg[2][8];   /* HIP_PATCH_PC: the two registers that receive the address */
	/* HIP_PATCH_END in a twin. If `probed`, the exit probe runs here. If `counted`, the stub counts the waves that
	 * end here, to find the last wave of the block. */
	bool probed, counted;
	uint32_t target;      /* offset of the target (BRANCH, JUMP, FAR_JUMP; in a twin also CALL and TAIL) */
	uint64_t callee;      /* CALL, TAIL: the function's address in the file, or UINT64_MAX if it is unknown */
	bool begins_function; /* a function's first instruction */
	bool has_back_branch; /* a branch of the function goes back to its first instruction */
	/* NARROW_EXEC: true if the remaining lanes branch back to the loop's head; false if the removed lanes branch */
	bool at_loop_end;
	const char *why;    /* reason why no probe can run here; NULL if one can; see also hip_access.why */
	uint32_t naccesses; /* ACCESS */
	struct hip_access access[HIP_MAX_ACCESSES];
	char name[32]; /* mnemonic; `registers` has the registers that the instruction names */
	struct hip_reg registers[HIP_MAX_REGISTERS];
	bool is_insn_place;    /* gpu/insn programs (which attach to any instruction) can run here */
	const char *file;      /* name of the source file if code of a source line begins here; else NULL */
	const char *mark;      /* name of the mark (gpubpf/mark.h) at this instruction; NULL: none */
	struct hip_reg marked; /* registers that hold the mark's value */
};

/* flags of one 4-byte word of the code */
enum hip_word {
	HIP_WORD_BEGINS = 1,       /* a reachable instruction begins here */
	HIP_WORD_INSIDE = 2,       /* the second or a later word of an instruction */
	HIP_WORD_JUMPS = 4,        /* a branch; its lower 16 bits are the distance in words */
	HIP_WORD_CLAUSE = 8,       /* an instruction of a clause, other than the s_clause */
	HIP_WORD_IN_FAR_JUMP = 16, /* inside a far jump; reachable only from the instruction before it */
	HIP_WORD_INDEXED = 32,     /* runs in the mode that indexes vector registers */
};

struct hip_code {
	uint32_t size;  /* bytes from the start of the code to the end of the last reachable instruction */
	uint8_t *words; /* enum hip_word flags of each 4-byte word */
	struct hip_patch *patches;
	uint32_t npatches;
	bool calls;              /* the code calls functions */
	bool has_indirect_calls; /* the code calls functions through pointers */
	uint64_t *callees;       /* virtual addresses of the known callees in the file, without duplicates */
	uint32_t ncallees;
	bool barrier; /* the code has a barrier of the work-group */
	bool matrix;  /* the code has matrix instructions, whose results have a long latency */
	/* per register file: index of the highest register that the code names, plus one */
	uint32_t scalar, vector, accum;
	bool special; /* the code names flat_scratch or xnack_mask */
};

enum hip_reading {
	HIP_READ_INSNS = 1,     /* add patches for accesses, barriers, branches, calls and returns too */
	HIP_READ_TWIN = 2,      /* accept s_call_b64 and s_setpc_b64, which a twin's stubs and probes contain */
	HIP_READ_ALL = 4,       /* with HIP_READ_INSNS: add a patch for every instruction */
	HIP_READ_CALLS = 8,     /* find callees; with HIP_READ_INSNS, also add patches for calls */
	HIP_READ_FUNCTION = 16, /* the code is a function, which returns; requires HIP_READ_CALLS */
};

/* The code to read, and its location in the file. */
struct hip_code_at {
	const uint8_t *bytes;
	size_t size, start; /* bytes of code; offset of the first instruction */
	uint64_t address;   /* virtual address of bytes[0] in the file */
	/* first of the four registers that hold the descriptor of the lane's private memory at `start`; -1: none */
	int descriptor;
	const struct hip_elf *elf; /* the code's file, or NULL */
};

/* Reads all reachable instructions into *code. `how` is a set of enum hip_reading flags. Returns 0, -ENOMEM, or -EINVAL
 * with the reason why no twin can be made. */
int hip_code_read(const struct hip_isa *isa, bool wave32, uint32_t how, const struct hip_code_at *at,
		  struct hip_code *code, struct gpubpf_diag *diag);
/* Returns the offset of the target of a branch at offset `off`, whose first word is `word`. */
uint32_t hip_code_target(uint32_t off, uint32_t word);
/* Returns true if the patch is a place of this kind. For kinds of memory accesses, the answer is for access number i of
 * the instruction. */
bool hip_patch_is_site(const struct hip_patch *patch, uint32_t i, enum gpubpf_site kind);
/* Returns the patch of the instruction at this offset, or NULL. */
struct hip_patch *hip_patch_at(const struct hip_code *code, uint32_t off);
void hip_code_finish(struct hip_code *code);

#endif
