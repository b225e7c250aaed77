/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions of a kernel or a function, as LLVM's disassembler reads them: all that control reaches from its first one
 * without leaving for other functions, and of these the ones that a twin must replace.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_CODE_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access.h"
#include "isa.h"

struct gpubpf_diag;
struct hip_elf;

enum hip_patch_kind {
	HIP_PATCH_END,             /* s_endpgm */
	HIP_PATCH_PC,              /* s_getpc_b64: where the code itself lies */
	HIP_PATCH_FAR,             /* s_setpc_b64: a jump within the kernel, further than branches reach */
	HIP_PATCH_FREE,            /* s_sendmsg(MSG_DEALLOC_VGPRS): gives the registers away before the end */
	/* only where they are asked for: */
	HIP_PATCH_ACCESS,          /* of memory */
	HIP_PATCH_BARRIER,         /* of the group: where a wave waits */
	HIP_PATCH_BRANCH,          /* a conditional branch, which all of its lanes take, or none */
	HIP_PATCH_PART,            /* lanes part: EXEC loses those for which a condition does not hold */
	HIP_PATCH_CLAUSE,          /* s_clause: the next instructions stand together, which is a hint */
	HIP_PATCH_CALL,            /* of a function that is known */
	HIP_PATCH_TAIL,            /* the last thing that a function does is to call another, which returns for it */
	HIP_PATCH_RETURN,
	/* only where all instructions are: */
	HIP_PATCH_JUMP,            /* a branch that is no BRANCH */
	HIP_PATCH_OTHER,
};

#define HIP_MOST_REGISTERS 8   /* of an instruction that programs are given */

struct hip_patch {
	enum hip_patch_kind kind;
	uint32_t off;              /* from the first instruction; in a twin, from the kernel's, where functions are behind it */
	uint64_t address;          /* in the file */
	uint32_t size;             /* bytes */
	uint32_t line;             /* of the source, where it is known */
	char reg[2][8];            /* PC: the two registers that it sets */
	bool probed, counted;      /* END, in a twin: the exit probe stands here; the block's last lane is looked for */
	uint32_t target;           /* BRANCH, JUMP, FAR; CALL and TAIL in a twin: where it goes */
	uint64_t callee;           /* CALL, TAIL: the function's address in the file; RETURN: none */
	bool begins;               /* a function begins here */
	bool again;                /* and control comes back to it */
	bool loops;                /* PART: the lanes that stay take it, back to a loop's top; else those that are lost do */
	const char *why;           /* nothing can stand there but at an access, which has its own; NULL: it can */
	uint32_t naccesses;        /* ACCESS */
	struct hip_access access[HIP_MOST_ACCESSES];
	char name[32];             /* its opcode, and the registers that it names */
	struct hip_reg registers[HIP_MOST_REGISTERS];
	bool any;                  /* programs can stand there as at any instruction */
	const char *file;          /* a line of this file begins; NULL: none does */
	const char *mark;          /* the mark of this name; NULL: none */
	struct hip_reg marked;     /* its value */
};

/* of a word of the code, as bits */
enum hip_word {
	HIP_WORD_BEGINS = 1,       /* control comes to an instruction that begins here */
	HIP_WORD_INSIDE = 2,       /* it is another word of one */
	HIP_WORD_JUMPS = 4,        /* a branch, whose lower half is its distance */
	HIP_WORD_CLAUSE = 8,       /* an instruction that follows the one before it in a clause */
	HIP_WORD_HELD = 16,        /* control comes from the one before it alone */
	HIP_WORD_INDEXED = 32,     /* and vector registers are named by an index */
};

struct hip_code {
	uint32_t size;             /* bytes up to the end of the last instruction that is reached */
	uint8_t *words;            /* enum hip_word of each */
	struct hip_patch *patches;
	uint32_t npatches;
	bool calls;                /* it calls functions */
	bool unknown;              /* some by pointers */
	uint64_t *callees;         /* the others, by their addresses in the file, each once */
	uint32_t ncallees;
	bool barrier;
	bool matrix;               /* it has matrix instructions, whose results come late */
	uint32_t scalar, vector, accum; /* registers that it names: one more than the last of each kind */
	bool special;              /* it names flat_scratch or xnack_mask */
};

enum hip_reading {
	HIP_READ_INSNS = 1,        /* places of single instructions too */
	HIP_READ_TWIN = 2,         /* stubs call, and return by a computed address */
	HIP_READ_ALL = 4,          /* all instructions, with INSNS */
	HIP_READ_CALLS = 8,        /* its callees too, and with INSNS the calls */
	HIP_READ_FUNCTION = 16,    /* it is a function, which returns; with CALLS */
};

/* where code is */
struct hip_code_at {
	const uint8_t *bytes;
	size_t size, start;        /* control comes to `start`, an offset */
	uint64_t address;          /* of byte 0 in the file */
	int descriptor;            /* first of four registers that have that of a lane's own memory there; -1: none */
	const struct hip_elf *elf; /* that it is of; NULL: none */
};

void hip_code_init(void);
/* What control reaches; how: enum hip_reading. 0; -EINVAL and the reason for which no twin can be made; -ENOMEM. */
int hip_code_read(const struct hip_isa *isa, bool wave32, uint32_t how, const struct hip_code_at *at, struct hip_code *code,
		  struct gpubpf_diag *diag);
/* Where the branch goes whose word that is, at an offset. */
uint32_t hip_code_target(uint32_t off, uint32_t word);
/* Is part i of what an instruction does a place of that kind? */
bool hip_patch_is(const struct hip_patch *patch, uint32_t i, enum gpubpf_site kind);
/* The patch that begins there; NULL: none does. */
struct hip_patch *hip_patch_at(const struct hip_code *code, uint32_t off);
void hip_code_finish(struct hip_code *code);

#endif
