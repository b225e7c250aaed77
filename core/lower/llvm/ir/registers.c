/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads of registers that the injector declares in the place's function. The register %gpubpf_first<map> has the address
 * of the array's first value. A function computes it once, at its entry.
 */
#include <stdio.h>
#include <string.h>

#include "ir.h"
#include "maps/impl.h"

bool low_has_registers(const struct low_prog *p)
{
	const struct low *l = p->l;

	return l->opts->keeps_sums && !l->job->checked && gpubpf_place_kind(p->site->site)->where == GPUBPF_WHERE_INSN;
}

LLVMValueRef low_read_with(struct low *l, const char *statement, const char *name, unsigned bytes)
{
	LLVMTypeRef type = LLVMFunctionType(low_int(l, bytes), NULL, 0, false);
	const char *constraints = bytes == 8 ? "=l" : "=r";
	char text[80];
	size_t n = snprintf(text, sizeof(text), statement, name);
	/* no memory access ("memory" has value 0), so LLVM may merge and move the read */
	static const char *const facts[] = { "memory", "nounwind", "willreturn" };
	LLVMValueRef read = LLVMBuildCall2(l->b, type,
					   LLVMGetInlineAsm(type, text, n, constraints, strlen(constraints), false,
							    false, LLVMInlineAsmDialectATT, false),
					   NULL, 0, "");

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		LLVMAddCallSiteAttribute(
			read, LLVMAttributeFunctionIndex,
			LLVMCreateEnumAttribute(l->ctx, LLVMGetEnumAttributeKindForName(facts[i], strlen(facts[i])), 0));
	return read;
}

LLVMValueRef low_read_register(struct low *l, const char *name, unsigned bytes)
{
	return low_read_with(l, bytes == 8 ? "mov.b64 $0, %s;" : "mov.b32 $0, %s;", name, bytes);
}

bool low_has_first_register(struct low_frame *f, uint32_t map)
{
	const struct gpubpf_map_layout *layout = &f->p->l->job->layouts[map];
	const struct gpubpf_map *m = &f->p->l->job->unit->maps[map];
	struct low *l = f->p->l;
	uint32_t i = 0;

	if (!low_has_registers(f->p) || m->type->impl != &gpubpf_array_impl || m->prototype ||
	    layout->flags & (GPUBPF_LAYOUT_COPIES | GPUBPF_LAYOUT_PLACED) || layout->copy_stride > UINT32_MAX)
		return false;
	while (i < l->nfirsts && l->firsts[i] != map)
		i++;
	if (i == l->nfirsts && i < LOW_MAX_FIRSTS)
		l->firsts[l->nfirsts++] = map;
	return i < LOW_MAX_FIRSTS;
}

/*
 * Reads the address from the register. Metadata promises LLVM that it is in [1, 2^62), so that neither it nor the
 * address after the map is 0.
 */
static LLVMValueRef first_value(struct low *l, uint32_t map)
{
	LLVMMetadataRef range[] = { LLVMValueAsMetadata(low_const(l, 1)), LLVMValueAsMetadata(low_const(l, 1ull << 62)) };
	LLVMValueRef first;
	char name[40];

	snprintf(name, sizeof(name), "%%gpubpf_first%u", map);
	first = low_read_register(l, name, 8);
	LLVMSetMetadata(first, LLVMGetMDKindIDInContext(l->ctx, "range", 5),
			LLVMMetadataAsValue(l->ctx, LLVMMDNodeInContext2(l->ctx, range, 2)));
	return first;
}

LLVMValueRef low_first_value(struct low_frame *f, uint32_t map)
{
	LLVMValueRef args[16] = { f->p->env };
	struct low *l = f->p->l;
	unsigned n;

	if (low_has_first_register(f, map))
		return first_value(l, map);
	n = 1 + low_unit_map(l, args[0], map, &l->job->layouts[map], args + 1);
	args[n++] = low_const32(l, 0);
	return low_call(l, "gpubpf_array_address", args, n);
}
