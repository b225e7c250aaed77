/* SPDX-License-Identifier: Apache-2.0 */
/* Determines how an instruction accesses memory, according to isa.def. */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_ACCESS_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_ACCESS_H

#include "spv.h"

#define SPV_MAX_ACCESSES 2

/*
 * One memory access by a lane. If `unseen` is set, the access cannot be described exactly. pointer, index, times,
 * value, operand and old are ids of SPIR-V values; 0: none.
 */
struct spv_access {
	enum gpubpf_mem_access access;
	uint32_t spaces; /* bit mask (GPUBPF_IN); several bits if the pointer is generic */
	uint32_t pointer;
	uint32_t index, stride; /* the accessed address is pointer + index * stride, in bytes */
	uint32_t bytes, count;  /* size in bytes; number of elements */
	uint32_t times;         /* if not 0: id of a value; the size is `bytes` times this value */
	uint32_t value;
	/* operation, operand and old value of an atomic access; operand_is_one: the operand is the constant 1 */
	enum gpubpf_rmw rmw;
	uint32_t operand, old;
	bool operand_is_one;
	bool hidden; /* the module has no value that holds the stored data */
	bool group;  /* all lanes of the work-group make the access together; the first lane reports it */
	/* names the memory or instruction in a message, such as "an image"; NULL: the access is described exactly */
	const char *unseen;
};

/* List in out[] the accesses of an instruction inside a function. Returns their number. */
uint32_t gpubpf_spv_accesses(const struct gpubpf_spv *m, uint32_t insn, struct spv_access out[SPV_MAX_ACCESSES]);
/*
 * Returns true if the instruction is a barrier. The result *kind is the set of lanes that it joins. The result *unseen
 * is NULL, or a phrase for messages if the kind is unknown.
 */
bool gpubpf_spv_barrier(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn, enum gpubpf_barrier_kind *kind,
			const char **unseen);
/*
 * Returns true if the pointer points to memory. Images and the built-in variables of work-item functions are not
 * memory.
 */
bool gpubpf_spv_is_memory(const struct gpubpf_spv *m, uint32_t pointer);
/* Returns the id's name in its LinkageAttributes decoration, or "" without this decoration. */
const char *gpubpf_spv_linked_name(const struct gpubpf_spv *m, uint32_t id);

#endif
