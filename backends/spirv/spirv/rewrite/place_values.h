/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits code that stores the values of a place in the words that follow the environment. Only words that a BPF program
 * reads are stored.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_PLACE_VALUES_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_PLACE_VALUES_H

#include "backends/spirv/spirv/module/access.h"
#include "calls.h"

/* the place whose values are stored, and where the code goes */
struct spv_place_writer {
	struct inject *in;
	struct spv_words *out;
	const struct gpubpf_spv_place *place;
	struct spv_access access; /* for a place at a memory access: the access */
	enum gpubpf_barrier_kind barrier;
	/* for a place at a function's call or return: the code added to the function */
	const struct spv_call_sites *called;
	uint32_t env;
	uint64_t reads; /* bit i: a BPF program reads word i after the environment */
};

/* Emit code that stores the words that BPF programs read. */
void spv_write_place_words(struct spv_place_writer *a);

/* Append an instruction with one or two operands. Returns the id of its result. */
uint32_t spv_emit_unary(struct inject *in, struct spv_words *out, uint32_t op, uint32_t type, uint32_t a);
uint32_t spv_emit_binary(struct inject *in, struct spv_words *out, uint32_t op, uint32_t type, uint32_t a, uint32_t b);
/* Returns the id of a pointer of this type to element i of the array at `base`. */
uint32_t spv_element_pointer(struct inject *in, struct spv_words *out, uint32_t type, uint32_t base, uint32_t i);

#endif
