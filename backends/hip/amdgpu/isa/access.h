/* SPDX-License-Identifier: Apache-2.0 */
/* Memory accesses of an instruction, by memory.def and by its operands as LLVM's disassembler prints them. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_ACCESS_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/model/places.h"

#define HIP_MAX_ACCESSES 2 /* of one instruction */
#define HIP_VCC 106         /* VCC's number among the scalar registers */

/* registers of an operand */
struct hip_reg {
	char file; /* v, a or s; e is EXEC and m is M0, if the caller accepts them; 0: none */
	uint8_t first, n;
};

enum hip_addressing {
	HIP_AT_VECTOR, /* 64 bits of vector registers */
	HIP_AT_SCALAR, /* 64 bits of scalar registers, plus one register of either kind */
	HIP_AT_OFFSET, /* 32 bits from the space's start: a vector and a scalar register, if present */
	HIP_AT_BUFFER, /* like HIP_AT_OFFSET, through a descriptor of private memory; the scalar register
				    * counts the bytes of all lanes */
};

struct hip_access {
	enum gpubpf_mem_access access;
	enum gpubpf_rmw op; /* operation of an atomic */
	uint32_t spaces;    /* GPUBPF_IN: spaces in which the address may lie */
	uint32_t bytes;
	enum hip_addressing by;
	struct hip_reg vector, scalar, descriptor; /* registers of the address */
	int32_t offset;                            /* bytes added to the address */
	struct hip_reg value;                      /* registers that are stored or combined with memory */
	struct hip_reg compared;                   /* registers with the compared value of a compare and swap */
	struct hip_reg old;                        /* destination of an atomic */
	bool high;                                 /* the value is in the upper half of its register */
	bool once;                                 /* one access for all lanes of the wave */
	uint32_t hint;                             /* enum gpubpf_mem_hint */
	const char *why;                           /* why the access cannot be described exactly; NULL: it can */
};

/* Lists the memory accesses of an instruction and returns their number. */
uint32_t hip_accesses(const char *name, const char *operands, struct hip_access accesses[HIP_MAX_ACCESSES]);
/* Reads the registers s, v or a with which a text begins: s4, s[4:5], vcc. Returns false if there is none. */
bool hip_reg_read(const char *text, struct hip_reg *reg);

#endif
