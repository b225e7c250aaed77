/* SPDX-License-Identifier: Apache-2.0 */
/* Writes SPIR-V: appends instructions to a growing array, and finds or creates a module's types and constants. */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_WRITE_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_WRITE_H

#include "spv.h"

struct spv_words {
	uint32_t *data;
	size_t n, room;
	bool failed; /* memory ran out */
};

/* The module being rewritten, and the new instructions for each of its sections. */
struct spv_build {
	const struct gpubpf_spv *m;
	uint32_t bound; /* next free id */
	struct spv_words capabilities, decorations, types, declarations;
};

/* Append an instruction with n operands. */
void spv_op(struct spv_words *w, uint32_t op, const uint32_t *operands, uint32_t n);
#define SPV_OP(w, op, ...) \
	spv_op((w), (op), (const uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4)
void spv_append(struct spv_words *w, const uint32_t *words, size_t n);
/* Append an instruction with a literal string: n operands, the string, then m operands. */
void spv_op_string(struct spv_words *w, uint32_t op, const uint32_t *before, uint32_t n, const char *text,
		   const uint32_t *after, uint32_t m);

uint32_t spv_id(struct spv_build *b);
/*
 * Returns the id of the type with this opcode and these operands. Creates the type only if the module does not have it,
 * because types must be unique (section 2.8).
 */
uint32_t spv_type(struct spv_build *b, uint32_t op, const uint32_t *operands, uint32_t n);
#define SPV_TYPE(b, op, ...) \
	spv_type((b), (op), (const uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4)
uint32_t spv_void(struct spv_build *b);
uint32_t spv_u64(struct spv_build *b, uint64_t value);
uint32_t spv_u32(struct spv_build *b, uint32_t value);
void spv_capability(struct spv_build *b, uint32_t capability);

#endif
