/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads registers that the injector declares in the place's function. The register %gpubpf_first<map> has the address
 * of the array's first value. The function computes it once, at its top.
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
	/*
	 * The attribute "memory" with value 0 says that the read accesses no memory, so LLVM may merge and move reads.
	 */
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

const struct gpubpf_acc_register *low_reserve_register(struct gpubpf_acc_register *list, uint32_t *n, uint32_t max,
						       struct gpubpf_acc_register reg)
{
	uint32_t i = 0;

	while (i < *n && (list[i].map != reg.map || list[i].off != reg.off || list[i].bytes != reg.bytes))
		i++;
	if (i == max)
		return NULL;
	if (i == *n)
		list[(*n)++] = reg;
	return &list[i];
}

static const struct gpubpf_acc_register *reserve_map_base(struct low *l, uint32_t map)
{
	struct gpubpf_acc_register reg = { .map = map };

	snprintf(reg.name, sizeof(reg.name), "%u", map);
	return low_reserve_register(l->registers.map_bases, &l->registers.nmap_bases, GPUBPF_MAX_MAP_BASES, reg);
}

bool low_has_first_register(struct low_frame *f, uint32_t map)
{
	const struct gpubpf_map_layout *layout = &f->p->l->job->layouts[map];
	const struct gpubpf_map *m = &f->p->l->job->unit->maps[map];

	if (!low_has_registers(f->p) || m->type->impl != &gpubpf_array_impl || m->prototype ||
	    layout->flags & (GPUBPF_LAYOUT_COPIES | GPUBPF_LAYOUT_PLACED) || layout->copy_stride > UINT32_MAX)
		return false;
	return reserve_map_base(f->p->l, map);
}

/*
 * Reads the address from the register. The range metadata tells LLVM that the address is in [1, 2^62), so that no
 * address in the map is 0.
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
