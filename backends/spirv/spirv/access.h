/* SPDX-License-Identifier: Apache-2.0 */
/* What an instruction does to memory, by isa.def. */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_ACCESS_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_ACCESS_H

#include "spv.h"

#define SPV_MOST_ACCESSES 2

/* one access by a lane; or, with `unseen`, that there is one which cannot be told exactly. Values are ids, 0: none. */
struct spv_access {
	enum gpubpf_mem_access access;
	uint32_t spaces;           /* GPUBPF_IN: several where the pointer is generic */
	uint32_t pointer;
	uint32_t index, stride;    /* a value, times so many bytes from the pointer on */
	uint32_t bytes, count;     /* of one; its elements */
	uint32_t many;             /* a value: so many times `bytes` */
	uint32_t value;
	enum gpubpf_rmw rmw;       /* of an atomic: the operation; its operand, `one`: 1; what was there */
	uint32_t operand, old;
	bool one;
	bool hidden;               /* what is stored is no value of the module */
	bool group;                /* it is its block's, whose first lane makes it */
	const char *unseen;        /* what it touches; NULL: it can be seen */
};

/* Those of an instruction of a function; returns how many. */
uint32_t gpubpf_spv_accesses(const struct gpubpf_spv *m, uint32_t insn, struct spv_access out[SPV_MOST_ACCESSES]);
/* What an instruction waits for; false: it is no barrier. *unseen: why that cannot be told, or NULL. */
bool gpubpf_spv_barrier(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn, enum gpubpf_barrier_kind *kind,
			const char **unseen);
/* Is what a pointer leads to memory, and not an image, say, or what a work-item function reads? */
bool gpubpf_spv_is_memory(const struct gpubpf_spv *m, uint32_t pointer);
/* The name that an id is linked by, "": none. */
const char *gpubpf_spv_linked_name(const struct gpubpf_spv *m, uint32_t id);

#endif
