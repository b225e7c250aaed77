/* SPDX-License-Identifier: Apache-2.0 */
/* What a place gives, for a program to read behind the environment. */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_GIVE_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_GIVE_H

#include "access.h"
#include "calls.h"

/* one place's text being made */
struct spv_giving {
	struct inject *in;
	struct spv_words *out;
	const struct gpubpf_spv_place *place;
	struct spv_access access;      /* of a place of accesses */
	enum gpubpf_barrier_kind barrier;
	const struct spv_called *called; /* of a function's place */
	uint32_t env;
	uint64_t reads;                /* of the words behind it */
};

/* Fill in the words that are read. */
void spv_give(struct spv_giving *a);

/* Values of one and of two operands. */
uint32_t spv_made(struct inject *in, struct spv_words *out, uint32_t op, uint32_t type, uint32_t a);
uint32_t spv_made2(struct inject *in, struct spv_words *out, uint32_t op, uint32_t type, uint32_t a, uint32_t b);
/* A pointer to element i behind base. */
uint32_t spv_element(struct inject *in, struct spv_words *out, uint32_t type, uint32_t base, uint32_t i);

#endif
