/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the memory accesses of a PTX instruction, by the table backends/cuda/ptx/ir/isa.def. */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_ACCESS_H
#define GPUBPF_BACKENDS_CUDA_PTX_ACCESS_H

#include "core/model/places.h"
#include "backends/cuda/ptx/ir/ptx.h"

#define PTX_MAX_ACCESSES 2

/*
 * How an instruction states the number of bytes that it accesses. TYPE: by its type and vector length. OPERAND: in an
 * operand. COPIED: in the operands of cp.async. ROW: as one 16-byte row of a matrix. UNKNOWN: the instruction does not
 * show the number.
 */
enum ptx_bytes { PTX_BYTES_TYPE, PTX_BYTES_OPERAND, PTX_BYTES_COPIED, PTX_BYTES_ROW, PTX_BYTES_UNKNOWN };

/* One memory access of one lane. If `unseen` is not NULL, the access cannot be described exactly. */
struct ptx_access {
	enum gpubpf_mem_access access;
	uint32_t spaces;    /* bits GPUBPF_IN of the possible state spaces; a generic address may be in several */
	uint32_t address;   /* token of the address's '[' */
	uint32_t space;     /* token of the modifier that names the state space; PTX_NONE if the address is generic */
	enum ptx_bytes how; /* how the instruction states the number of bytes */
	uint32_t bytes_operand;
	/* for PTX_BYTES_TYPE and PTX_BYTES_ROW: bytes of the whole access, and number of its elements */
	uint32_t bytes, count;
	/* first token of the operand that is stored or that an atomic combines with memory, or PTX_NONE */
	uint32_t value;
	/*
	 * noun phrase for the memory in the diagnostic that refuses the probe; NULL if the access can be described
	 * exactly
	 */
	const char *unseen;
};

/* Lists the accesses of an instruction and returns their number. */
uint32_t ptx_accesses(const struct ptx_module *m, uint32_t node, struct ptx_access out[PTX_MAX_ACCESSES]);
/* Returns true if backends/cuda/ptx/ir/isa.def has a row for the instruction's opcode and modifiers. */
bool ptx_is_known(const struct ptx_module *m, uint32_t node);
/* Returns true if the instruction has these modifiers, separated by blanks. */
bool ptx_has_modifiers(const struct ptx_module *m, uint32_t node, const char *modifiers);
/*
 * Describes the object to which the address operand `operand` points, such as a barrier object. The result has no kind
 * of access.
 */
struct ptx_access ptx_describe_object(const struct ptx_module *m, uint32_t node, uint32_t operand);
/*
 * Returns the token at which operand i of an instruction begins, or PTX_NONE if the instruction has at most i operands.
 */
uint32_t ptx_operand(const struct ptx_module *m, uint32_t node, uint32_t i);
/* Returns the size in bytes of the type that the instruction names, or 0 if the type is unknown. */
uint32_t ptx_type_bytes(const struct ptx_module *m, uint32_t node);

#endif
