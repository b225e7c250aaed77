/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions are called and name, and marks. */
#ifndef GPUBPF_BACKENDS_SPIRV_SPIRV_NAMED_H
#define GPUBPF_BACKENDS_SPIRV_SPIRV_NAMED_H

#include "spv.h"

/* what opcodes.py makes of the grammars of SPIR-V's headers, by their numbers */
struct gpubpf_spv_opcode {
	uint32_t number;
	const char *name;          /* "OpFMul"; of OpenCL.std "sin" */
	const char *words;         /* behind the first, a letter for each: i: an id, I: it and all behind it are, -: none */
};
extern const struct gpubpf_spv_opcode gpubpf_spv_opcodes[], gpubpf_spv_extended[];
extern const uint32_t gpubpf_spv_nopcodes, gpubpf_spv_nextended;

#define GPUBPF_SPV_OPERANDS 8

/* Does a function do something there, before which a call may stand? */
bool gpubpf_spv_is_executed(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn);
/* The first values that it names, in its order, without what it makes; returns how many. */
uint32_t gpubpf_spv_operands(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn, uint32_t ids[GPUBPF_SPV_OPERANDS]);
/* Is it the function whose calls are marks? It is gpubpf/mark.h's and none of the application's. */
bool gpubpf_spv_makes_marks(const struct gpubpf_spv *m, uint32_t function);
/* Is it a mark of gpubpf/mark.h? And the value that it has. */
bool gpubpf_spv_is_mark(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn);
uint32_t gpubpf_spv_mark_value(const struct gpubpf_spv *m, const struct gpubpf_spv_insn *insn);
/* The name of a place that has one. */
void gpubpf_spv_place_name(const struct gpubpf_spv *m, const struct gpubpf_spv_place *place, char *name, size_t size);

#endif
