/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the values that a place captures in the words after the environment, where a program reads them. */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_PLACE_VALUES_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_PLACE_VALUES_H

#include "backends/spirv/spirv/module/access.h"
#include "calls.h"

/* the code for one place */
struct spv_place_writer {
	struct inject *in;
	struct spv_words *out;
	const struct gpubpf_spv_place *place;
	struct spv_access access; /* the access, for a place at one */
	enum gpubpf_barrier_kind barrier;
	const struct spv_call_sites *called; /* the code added to the function, for a place at its call or return */
	uint32_t env;
	uint64_t reads; /* bit i: a program reads word i after the environment */
};

/* Store the words that programs read. */
void spv_write_place_words(struct spv_place_writer *a);

/* Append an instruction with one or two operands; returns the id of its result. */
uint32_t spv_emit_unary(struct inject *in, struct spv_words *out, uint32_t op, uint32_t type, uint32_t a);
uint32_t spv_emit_binary(struct inject *in, struct spv_words *out, uint32_t op, uint32_t type, uint32_t a, uint32_t b);
/* Returns the id of a pointer of this type to element i, counted from `base`. */
uint32_t spv_element_pointer(struct inject *in, struct spv_words *out, uint32_t type, uint32_t base, uint32_t i);

#endif
