/* SPDX-License-Identifier: Apache-2.0 */
/* What an instruction does to memory, by isa.def. */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_ACCESS_H
#define GPUBPF_BACKENDS_CUDA_PTX_ACCESS_H

#include "core/places.h"
#include "ptx.h"

#define PTX_MOST_ACCESSES 2

enum ptx_bytes { PTX_BYTES_TYPE, PTX_BYTES_OPERAND, PTX_BYTES_COPIED, PTX_BYTES_ROW, PTX_BYTES_UNSAID };

/* one access by a lane; or, with `unseen`, that there is one which cannot be told exactly */
struct ptx_access {
	enum gpubpf_mem_access access;
	uint32_t spaces;           /* GPUBPF_IN: several where the address is generic */
	uint32_t address;          /* token of its '[' */
	uint32_t space;            /* token that names the space; PTX_NONE: generic */
	enum ptx_bytes how;        /* OPERAND, COPIED: bytes are said by the operand at token `said` */
	uint32_t said;
	uint32_t bytes, count;     /* TYPE, ROW: of the access, and its elements */
	uint32_t value;            /* token where the operand begins, PTX_NONE: there is none */
	const char *unseen;        /* what it touches; NULL: it can be seen */
};

/* Those of an instruction; returns how many. */
uint32_t ptx_accesses(const struct ptx_module *m, uint32_t node, struct ptx_access out[PTX_MOST_ACCESSES]);
/* Is its opcode one of isa.def's, with modifiers that a row has? */
bool ptx_knows(const struct ptx_module *m, uint32_t node);
/* Has an instruction these modifiers, parted by blanks? */
bool ptx_insn_has(const struct ptx_module *m, uint32_t node, const char *modifiers);
/* What lies at the address that the operand at a token says, without an access. */
struct ptx_access ptx_object(const struct ptx_module *m, uint32_t node, uint32_t operand);
/* Where operand i of an instruction begins; PTX_NONE: it has fewer. */
uint32_t ptx_operand(const struct ptx_module *m, uint32_t node, uint32_t i);
/* Bytes of the elements that an instruction's type has; 0: it has no type that is known. */
uint32_t ptx_type_bytes(const struct ptx_module *m, uint32_t node);

#endif
