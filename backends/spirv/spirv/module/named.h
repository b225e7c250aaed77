/* SPDX-License-Identifier: Apache-2.0 */
/* Names and operands of SPIR-V instructions, and marks (calls of gpubpf_mark()). */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_NAMED_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_NAMED_H

#include "spv.h"

/*
 * a row of the opcode tables, which opcodes.py generates from the JSON grammars of the SPIR-V headers; sorted by number
 */
struct gpubpf_spv_opcode {
	uint32_t number;
	const char *name; /* such as "OpFMul", or "sin" for OpenCL.std */
	/*
	 * one letter for each instruction word after the first. i: an id. I: this word and all following words are ids.
	 * -: not an id
	 */
	const char *words;
};
extern const struct gpubpf_spv_opcode gpubpf_spv_opcodes[], gpubpf_spv_extended[];
extern const uint32_t gpubpf_spv_nopcodes, gpubpf_spv_nextended;

#define GPUBPF_SPV_OPERANDS 8

/* Returns true if the instruction executes and a call may be inserted before it. */
bool gpubpf_spv_is_executed(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn);
/*
 * Store in ids[] the ids of the values that the instruction uses as operands, in order and without its result. If there
 * are more than GPUBPF_SPV_OPERANDS, store only the first. Returns the number of stored ids.
 */
uint32_t gpubpf_spv_operands(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn,
			     uint32_t ids[GPUBPF_SPV_OPERANDS]);
/*
 * Returns true for the function gpubpf_mark() of gpubpf/mark.h, whose calls are marks. It does not count as a function
 * of the application.
 */
bool gpubpf_spv_is_mark_function(const struct gpubpf_spv *m, uint32_t function);
/*
 * Returns true if the instruction is a mark (a call of gpubpf_mark()). gpubpf_spv_mark_value() returns the id of the
 * mark's value.
 */
bool gpubpf_spv_is_mark(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn);
uint32_t gpubpf_spv_mark_value(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn);
/* Store the name of a place in name[]. The place must be of a kind that has names. */
void gpubpf_spv_place_name(const struct gpubpf_spv *m, const struct gpubpf_spv_place *place, char *name, size_t size);

#endif
