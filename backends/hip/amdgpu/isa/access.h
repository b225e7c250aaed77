/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes the memory accesses of an instruction, from the tables in memory.def. The instruction is the mnemonic and
 * the operands in the notation of LLVM's disassembler.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_ACCESS_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/model/places.h"

#define HIP_MAX_ACCESSES 2 /* maximum number of memory accesses of one instruction */
#define HIP_VCC 106         /* VCC's number among the scalar registers */

/* A range of registers of one file. */
struct hip_reg {
	/* 'v' (vector), 'a' (accumulation) or 's' (scalar). In struct hip_patch also 'e' (EXEC) or 'm' (M0). No
	 * register: 0. */
	char file;
	uint8_t first, n;
};

enum hip_addressing {
	HIP_AT_VECTOR, /* 64-bit address in vector registers */
	HIP_AT_SCALAR, /* 64-bit address in scalar registers, plus a vector or scalar register */
	HIP_AT_OFFSET, /* 32-bit offset in the memory space: the sum of a vector and a scalar register, if present */
	/*
	 * like HIP_AT_OFFSET, through a descriptor of private memory. The scalar register is an offset in the wave's
	 * private memory, which interleaves the bytes of all lanes.
	 */
	HIP_AT_BUFFER,
};

struct hip_access {
	enum gpubpf_mem_access access;
	enum gpubpf_rmw op; /* operation of an atomic access */
	uint32_t spaces;    /* GPUBPF_IN bits of the memory spaces in which the address may lie */
	uint32_t bytes;
	enum hip_addressing by;
	struct hip_reg vector, scalar, descriptor; /* registers that form the address */
	int32_t offset;                            /* constant offset of the address, in bytes */
	/* registers with the value to store, or with the operand of an atomic */
	struct hip_reg value;
	/* compare and swap: registers with the value that memory is compared with */
	struct hip_reg compared;
	struct hip_reg old; /* destination registers of a load or an atomic, for the old value */
	bool high;          /* the stored value is in the upper half of its register */
	bool once;          /* the wave makes one access for all its lanes (scalar load) */
	uint32_t hint;      /* enum gpubpf_mem_hint */
	const char *why;    /* reason why the access cannot be described exactly; NULL: it can */
};

/* Lists the memory accesses of an instruction and returns their number. */
uint32_t hip_accesses(const char *name, const char *operands, struct hip_access accesses[HIP_MAX_ACCESSES]);
/* Parses the register or register range (s, v, a or vcc) at the start of a text, for example s4, s[4:5] or vcc. Returns
 * false if there is none. */
bool hip_reg_read(const char *text, struct hip_reg *reg);

#endif
