/* SPDX-License-Identifier: Apache-2.0 */
/* Names and operands of instructions, and marks. */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_NAMED_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_NAMED_H

#include "spv.h"

/* a row of the tables that opcodes.py generates from the grammars in SPIR-V's headers, sorted by number */
struct gpubpf_spv_opcode {
	uint32_t number;
	const char *name; /* "OpFMul"; for OpenCL.std, "sin" */
	/* one letter for each word after the first. i: an id. I: this word and all following words are ids. -: no id */
	const char *words;
};
extern const struct gpubpf_spv_opcode gpubpf_spv_opcodes[], gpubpf_spv_extended[];
extern const uint32_t gpubpf_spv_nopcodes, gpubpf_spv_nextended;

#define GPUBPF_SPV_OPERANDS 8

/* Does the instruction execute, and may a call stand before it? */
bool gpubpf_spv_is_executed(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn);
/* List the first values that the instruction uses as operands, in order, without its result; returns how many. */
uint32_t gpubpf_spv_operands(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn,
			     uint32_t ids[GPUBPF_SPV_OPERANDS]);
/* Is this the function of gpubpf/mark.h whose calls are marks? It is no function of the application. */
bool gpubpf_spv_is_mark_function(const struct gpubpf_spv *m, uint32_t function);
/* Is the instruction a mark of gpubpf/mark.h? The second function returns the id of the mark's value. */
bool gpubpf_spv_is_mark(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn);
uint32_t gpubpf_spv_mark_value(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn);
/* Store the name of a place whose kind has names. */
void gpubpf_spv_place_name(const struct gpubpf_spv *m, const struct gpubpf_spv_place *place, char *name, size_t size);

#endif
