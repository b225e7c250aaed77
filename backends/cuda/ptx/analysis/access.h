/* SPDX-License-Identifier: Apache-2.0 */
/* Memory accesses of an instruction, by backends/cuda/ptx/ir/isa.def. */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_ACCESS_H
#define GPUBPF_BACKENDS_CUDA_PTX_ACCESS_H

#include "core/model/places.h"
#include "backends/cuda/ptx/ir/ptx.h"

#define PTX_MAX_ACCESSES 2

/* what states the number of accessed bytes: type and vector, an operand, the operands of cp.async, 16 for a row of a
 * matrix, nothing */
enum ptx_bytes { PTX_BYTES_TYPE, PTX_BYTES_OPERAND, PTX_BYTES_COPIED, PTX_BYTES_ROW, PTX_BYTES_UNKNOWN };

/* one access by a lane; if `unseen` is set, an access that cannot be described exactly */
struct ptx_access {
	enum gpubpf_mem_access access;
	uint32_t spaces;    /* GPUBPF_IN: several spaces if the address is generic */
	uint32_t address;   /* token of its '[' */
	uint32_t space;     /* token of the modifier that names the space; PTX_NONE: generic */
	enum ptx_bytes how; /* of the number of bytes */
	uint32_t bytes_operand;
	uint32_t bytes, count; /* PTX_BYTES_TYPE, PTX_BYTES_ROW: bytes of the access, and its number of elements */
	uint32_t value;        /* token where the stored or combined operand begins, or PTX_NONE */
	const char *unseen;    /* names the memory in a refusal; NULL: the access can be described exactly */
};

/* Lists the accesses of an instruction and returns their number. */
uint32_t ptx_accesses(const struct ptx_module *m, uint32_t node, struct ptx_access out[PTX_MAX_ACCESSES]);
/* Returns true if backends/cuda/ptx/ir/isa.def has a row for the instruction's opcode and modifiers. */
bool ptx_is_known(const struct ptx_module *m, uint32_t node);
/* Returns true if the instruction has these modifiers, separated by blanks. */
bool ptx_has_modifiers(const struct ptx_module *m, uint32_t node, const char *modifiers);
/* Describes the object at the address operand `operand`, without an access. */
struct ptx_access ptx_describe_object(const struct ptx_module *m, uint32_t node, uint32_t operand);
/* Returns the token at which operand i of an instruction begins, or PTX_NONE if it has fewer. */
uint32_t ptx_operand(const struct ptx_module *m, uint32_t node, uint32_t i);
/* Returns the bytes of an element of the instruction's type; 0: its type is unknown. */
uint32_t ptx_type_bytes(const struct ptx_module *m, uint32_t node);

#endif
