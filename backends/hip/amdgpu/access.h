/* SPDX-License-Identifier: Apache-2.0 */
/* What an instruction does to memory, by memory.def and its operands as LLVM's disassembler writes them. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_ACCESS_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/places.h"

#define HIP_MOST_ACCESSES 2 /* of one instruction */
#define HIP_VCC 106         /* its number among the scalar registers */

/* registers of an operand */
struct hip_reg {
	char file;                 /* v, a or s; e: EXEC, and m: M0, where these are looked for; 0: none */
	uint8_t first, n;
};

enum hip_addressing {
	HIP_AT_VECTOR,             /* 64 bits of vector registers */
	HIP_AT_SCALAR,             /* 64 bits of scalar registers, and what one register adds, of either kind */
	HIP_AT_OFFSET,             /* 32 bits, from where the space begins: of a vector and of a scalar register, if there are */
	HIP_AT_BUFFER,             /* likewise, by a descriptor of the lanes' own memory: a scalar register counts for the wave */
};

struct hip_access {
	enum gpubpf_mem_access access;
	enum gpubpf_rmw op;        /* of an atomic */
	uint32_t spaces;           /* GPUBPF_IN: of which the address may be */
	uint32_t bytes;
	enum hip_addressing by;
	struct hip_reg vector, scalar, descriptor; /* of the address */
	int32_t offset;            /* and what is added to it */
	struct hip_reg value;      /* that is stored or combined */
	struct hip_reg compared;   /* of a compare and swap */
	struct hip_reg old;        /* that an atomic gives */
	bool high;                 /* the value is in the upper half of its register */
	bool once;                 /* for all lanes */
	uint32_t hint;             /* enum gpubpf_mem_hint */
	const char *why;           /* it cannot be told exactly; NULL: it can */
};

/* How many accesses of memory it is. */
uint32_t hip_accesses(const char *name, const char *operands, struct hip_access accesses[HIP_MOST_ACCESSES]);
/* Registers s, v or a that a text begins with: s4, s[4:5], vcc. false: no such. */
bool hip_reg_read(const char *text, struct hip_reg *reg);

#endif
