/* SPDX-License-Identifier: Apache-2.0 */
/* How an instruction accesses memory, according to isa.def. */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_ACCESS_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_ACCESS_H

#include "spv.h"

#define SPV_MAX_ACCESSES 2

/* One access by a lane. If `unseen` is set, the instruction accesses memory in a way that cannot be described exactly.
 * Values are ids, 0: none. */
struct spv_access {
	enum gpubpf_mem_access access;
	uint32_t spaces; /* GPUBPF_IN; several bits if the pointer is generic */
	uint32_t pointer;
	uint32_t index, stride; /* the access begins `index` (a value) times `stride` bytes after the pointer */
	uint32_t bytes, count;  /* size in bytes; number of elements */
	uint32_t times;         /* if not 0, a value by which `bytes` is multiplied */
	uint32_t value;
	/* of an atomic: the operation; its operand and its result; operand_is_one: the operand is the constant 1 */
	enum gpubpf_rmw rmw;
	uint32_t operand, old;
	bool operand_is_one;
	bool hidden; /* the stored data is no value of the module */
	bool group;  /* the whole block makes the access; its first lane reports it */
	/* a phrase that names the memory or the instruction; NULL: the access is described exactly */
	const char *unseen;
};

/* List the accesses of an instruction inside a function; returns how many. */
uint32_t gpubpf_spv_accesses(const struct gpubpf_spv *m, uint32_t insn, struct spv_access out[SPV_MAX_ACCESSES]);
/* Is the instruction a barrier? *kind: which lanes it joins. *unseen: why the kind is unknown, or NULL. */
bool gpubpf_spv_barrier(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn, enum gpubpf_barrier_kind *kind,
			const char **unseen);
/* Does the pointer lead to memory? Images and the variables behind work-item functions are no memory. */
bool gpubpf_spv_is_memory(const struct gpubpf_spv *m, uint32_t pointer);
/* Returns the id's name in its Linkage decoration; "" if it has no such decoration. */
const char *gpubpf_spv_linked_name(const struct gpubpf_spv *m, uint32_t id);

#endif
