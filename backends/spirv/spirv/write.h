/* SPDX-License-Identifier: Apache-2.0 */
/* Writing SPIR-V: a growing run of words, and types and constants of a module by what they are. */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_WRITE_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_WRITE_H

#include "spv.h"

struct spv_words {
	uint32_t *data;
	size_t n, room;
	bool failed;           /* memory ran out */
};

/* what is being made from a module: new words for each place where some go */
struct spv_build {
	const struct gpubpf_spv *m;
	uint32_t bound;        /* next free id */
	struct spv_words capabilities, decorations, types, declarations;
};

/* Append an instruction of n operands. */
void spv_op(struct spv_words *w, uint32_t op, const uint32_t *operands, uint32_t n);
#define SPV_OP(w, op, ...) \
	spv_op((w), (op), (const uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4)
void spv_append(struct spv_words *w, const uint32_t *words, size_t n);
/* An instruction that ends with a literal string: n operands before it, m after. */
void spv_op_string(struct spv_words *w, uint32_t op, const uint32_t *before, uint32_t n, const char *text,
		   const uint32_t *after, uint32_t m);

uint32_t spv_id(struct spv_build *b);
/* The type of these words: the module's own where it has it (section 2.8 wants types unique), else new. */
uint32_t spv_type(struct spv_build *b, uint32_t op, const uint32_t *operands, uint32_t n);
#define SPV_TYPE(b, op, ...) \
	spv_type((b), (op), (const uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4)
uint32_t spv_void(struct spv_build *b);
uint32_t spv_u64(struct spv_build *b, uint64_t value);
uint32_t spv_u32(struct spv_build *b, uint32_t value);
void spv_capability(struct spv_build *b, uint32_t capability);

#endif
