/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks.h"

#include "insn_probe.h"
#include "place_values.h"

/*
 * Returns the id of the module's three-element variable with the BuiltIn decoration of `which`. Creates the variable if
 * it does not exist.
 */
static uint32_t find_built_in_variable(struct inject *in, enum spv_input which)
{
	static const SpvBuiltIn decorations[] = {
		[SPV_LOCAL_ID] = SpvBuiltInLocalInvocationId,
		[SPV_BLOCK_SIZE] = SpvBuiltInWorkgroupSize,
	};
	struct spv_build *b = &in->b;
	const struct gpubpf_spv *m = b->m;
	uint32_t vector, pointer, *id = &in->input[which];

	for (uint32_t i = 0; i < m->functions && !*id; i++) {
		uint32_t decorated = gpubpf_spv_word(m, &m->insn[i], 1);
		const struct gpubpf_spv_insn *def = m->insn[i].op == SpvOpDecorate ? gpubpf_spv_def(m, decorated) : NULL;

		if (def && def->op == SpvOpVariable && gpubpf_spv_word(m, &m->insn[i], 2) == SpvDecorationBuiltIn &&
		    gpubpf_spv_word(m, &m->insn[i], 3) == decorations[which])
			*id = decorated;
	}
	if (*id)
		return *id;
	*id = spv_id(b);
	vector = SPV_TYPE(b, SpvOpTypeVector, in->u64, 3);
	pointer = SPV_TYPE(b, SpvOpTypePointer, SpvStorageClassInput, vector);
	SPV_OP(&b->types, SpvOpVariable, pointer, *id, SpvStorageClassInput);
	SPV_OP(&b->decorations, SpvOpDecorate, *id, SpvDecorationBuiltIn, decorations[which]);
	return *id;
}

/*
 * Load the three-element variable and combine its elements by the binary operation `op`. Returns the id of the result;
 * *element receives the element type.
 */
static uint32_t combine_elements(struct inject *in, struct spv_words *out, enum spv_input which, uint32_t op,
				 uint32_t *element)
{
	const struct gpubpf_spv *m = in->b.m;
	uint32_t variable = find_built_in_variable(in, which), vector = SPV_TYPE(&in->b, SpvOpTypeVector, in->u64, 3), all;
	const struct gpubpf_spv_insn *t = gpubpf_spv_def(m, gpubpf_spv_type_of(m, variable));

	*element = in->u64;
	t = t ? gpubpf_spv_def(m, gpubpf_spv_word(m, t, 3)) : NULL;
	if (t && t->op == SpvOpTypeVector) {
		vector = gpubpf_spv_word(m, t, 1);
		*element = gpubpf_spv_word(m, t, 2);
	}
	variable = spv_emit_unary(in, out, SpvOpLoad, vector, variable);
	all = spv_emit_binary(in, out, SpvOpCompositeExtract, *element, variable, 0);
	for (uint32_t i = 1; i < 3; i++)
		all = spv_emit_binary(in, out, op, *element, all,
				      spv_emit_binary(in, out, SpvOpCompositeExtract, *element, variable, i));
	return all;
}

uint32_t spv_is_first_lane(struct inject *in, struct spv_words *out)
{
	uint32_t element, all = combine_elements(in, out, SPV_LOCAL_ID, SpvOpBitwiseOr, &element);
	uint32_t zero = spv_id(&in->b);

	SPV_OP(&in->b.types, SpvOpConstantNull, element, zero);
	return spv_emit_binary(in, out, SpvOpIEqual, spv_type(&in->b, SpvOpTypeBool, NULL, 0), all, zero);
}

/* Returns the id of the Workgroup variable that counts the lanes that have not returned. */
static uint32_t add_lane_count_variable(struct inject *in)
{
	struct spv_build *b = &in->b;
	uint32_t pointer;

	if (in->input[SPV_LANES])
		return in->input[SPV_LANES];
	pointer = SPV_TYPE(b, SpvOpTypePointer, SpvStorageClassWorkgroup, in->u32);
	in->input[SPV_LANES] = spv_id(b);
	SPV_OP(&b->types, SpvOpVariable, pointer, in->input[SPV_LANES], SpvStorageClassWorkgroup);
	return in->input[SPV_LANES];
}

void spv_count_lanes(struct inject *in, struct spv_words *out)
{
	struct spv_build *b = &in->b;
	uint32_t first = spv_is_first_lane(in, out), then = spv_id(b), after = spv_id(b),
		 block = spv_u32(b, SpvScopeWorkgroup);
	uint32_t element, size;

	SPV_OP(out, SpvOpBranchConditional, first, then, after);
	SPV_OP(out, SpvOpLabel, then);
	size = combine_elements(in, out, SPV_BLOCK_SIZE, SpvOpIMul, &element);
	if (element != in->u32)
		size = spv_emit_unary(in, out, SpvOpUConvert, in->u32, size);
	SPV_OP(out, SpvOpStore, add_lane_count_variable(in), size, SpvMemoryAccessAlignedMask, 4);
	SPV_OP(out, SpvOpBranch, after);
	SPV_OP(out, SpvOpLabel, after);
	SPV_OP(out, SpvOpControlBarrier, block, block,
	       spv_u32(b, SpvMemorySemanticsSequentiallyConsistentMask | SpvMemorySemanticsWorkgroupMemoryMask));
}

/*
 * The atomic decrement has acquire and release order. So the last lane sees all memory that the other lanes wrote
 * before they returned.
 */
void spv_call_last(struct inject *in, struct spv_words *out, uint32_t site, uint32_t env)
{
	struct spv_build *b = &in->b;
	uint32_t count = spv_id(b), then = spv_id(b), after = spv_id(b), last;
	uint32_t order = spv_u32(b, SpvMemorySemanticsAcquireReleaseMask | SpvMemorySemanticsWorkgroupMemoryMask |
					    SpvMemorySemanticsCrossWorkgroupMemoryMask);

	SPV_OP(out, SpvOpAtomicIDecrement, in->u32, count, add_lane_count_variable(in), spv_u32(b, SpvScopeWorkgroup),
	       order);
	last = spv_emit_binary(in, out, SpvOpIEqual, spv_type(b, SpvOpTypeBool, NULL, 0), count, spv_u32(b, 1));
	SPV_OP(out, SpvOpBranchConditional, last, then, after);
	SPV_OP(out, SpvOpLabel, then);
	spv_call_site(in, out, site, env);
	SPV_OP(out, SpvOpBranch, after);
	SPV_OP(out, SpvOpLabel, after);
}
