/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums that lanes keep. What a program adds at many places to a value that lies at one place, whatever the lane, and that
 * no program reads, goes into a register of the function that the place is in: low_keep() adds v to
 * %gpubpf_sum<bytes>_<map>_<offset> and leaves the address in %gpubpf_to<bytes>_<map>_<offset>. The injector declares both, 0 at
 * the function's top, and adds the one to the other wherever the function is left.
 */
#include <stdio.h>
#include <string.h>

#include "llvm_low.h"

/* A program that asks that others see what it did does not wait with it; one that ends threads does not pass where
 * functions are left. */
static bool may_wait(const struct gpubpf_prog *prog, uint32_t map)
{
	if (prog->facts->ends_thread || prog->facts->map_use[map] & (GPUBPF_USE_READ | GPUBPF_USE_UPDATE | GPUBPF_USE_DELETE))
		return false;
	for (uint32_t i = 0; i < prog->ninsns; i++) {
		const struct gpubpf_helper *helper = gpubpf_insn_helper(&prog->insns[i]);

		if (helper && helper->op == GPUBPF_OP_FENCE)
			return false;
	}
	return true;
}

/* One value, of which each multiprocessor has a summand. (Programs of no site of the job have no facts here.) */
static bool is_sum(const struct low *l, uint32_t map)
{
	const struct gpubpf_unit *unit = l->job->unit;

	if (!(l->job->layouts[map].flags & (GPUBPF_LAYOUT_SUM8 | GPUBPF_LAYOUT_SUM4)) || unit->maps[map].max_entries != 1)
		return false;
	for (uint32_t i = 0; i < unit->nprogs; i++)
		if (unit->progs[i].facts && !may_wait(&unit->progs[i], map))
			return false;
	return true;
}

/* Its number among those of the job; LOW_MAX_SUMS: there are too many. */
static uint32_t number_of(struct low *l, const struct low_sum *sum)
{
	uint32_t i = 0;

	while (i < l->nsums && memcmp(&l->sums[i], sum, sizeof(*sum)))
		i++;
	if (i == l->nsums && i < LOW_MAX_SUMS)
		l->sums[l->nsums++] = *sum;
	return i;
}

static void add(struct low *l, const struct low_sum *sum, LLVMValueRef address, LLVMValueRef v)
{
	LLVMTypeRef params[] = { low_int(l, 8), low_int(l, 8) };
	LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(l->ctx), params, 2, false);
	LLVMValueRef args[] = { v, address };
	char name[40], text[200];

	snprintf(name, sizeof(name), "%u_%u_%u", sum->width, sum->map, sum->off);
	snprintf(text, sizeof(text), "add.s64 %%gpubpf_sum%s, %%gpubpf_sum%s, $0;\nmov.b64 %%gpubpf_to%s, $1;", name, name, name);
	LLVMBuildCall2(l->b, type,
		       LLVMGetInlineAsm(type, text, strlen(text), "l,l", 3, true, false, LLVMInlineAsmDialectATT, false), args, 2,
		       "");
}

bool low_keep(struct low_frame *f, uint32_t pc, LLVMValueRef address, LLVMValueRef v)
{
	const struct gpubpf_access *a;
	struct low *l = f->p->l;
	struct low_sum sum;

	if (!l->opts->keeps_sums || l->job->checked || gpubpf_place_kind(f->p->site->site)->where != GPUBPF_WHERE_INSN)
		return false;
	a = &f->p->prog->facts->insn[pc].mem;
	if (a->spaces != GPUBPF_SPACE_MAP_VALUE || a->map < 0 || a->off_min < 0 || a->off_min != a->off_max)
		return false;
	sum = (struct low_sum){ a->map, a->off_min, f->p->prog->insns[pc].width };
	if (!is_sum(l, sum.map) || number_of(l, &sum) == LOW_MAX_SUMS)
		return false;
	add(l, &sum, address, v);
	return true;
}
