/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the values that a place captures in the words after the environment, where a program reads them. */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_GIVE_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_GIVE_H

#include "backends/spirv/spirv/module/access.h"
#include "backends/spirv/spirv/module/calls.h"

/* the code for one place */
struct spv_giving {
	struct inject *in;
	struct spv_words *out;
	const struct gpubpf_spv_place *place;
	struct spv_access access;      /* of a place of kind memory access */
	enum gpubpf_barrier_kind barrier;
	const struct spv_called *called; /* of a place at a function's call or return */
	uint32_t env;
	uint64_t reads;                /* bit i: a program reads word i after the environment */
};

/* Store the words that programs read. */
void spv_give(struct spv_giving *a);

/* Append an instruction with one or two operands; returns the id of its result. */
uint32_t spv_made(struct inject *in, struct spv_words *out, uint32_t op, uint32_t type, uint32_t a);
uint32_t spv_made2(struct inject *in, struct spv_words *out, uint32_t op, uint32_t type, uint32_t a, uint32_t b);
/* A pointer to element i, counted from base. */
uint32_t spv_element(struct inject *in, struct spv_words *out, uint32_t type, uint32_t base, uint32_t i);

#endif
