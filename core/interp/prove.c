/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks facts while a verified program runs (debug builds only). Before each instruction, the registers are compared
 * with the facts of this instruction and of the previous one. A violation is a bug of the verifier, never of the
 * program.
 */
#include <stdlib.h>
#include <string.h>

#include "host.h"

#ifndef NDEBUG

static bool memory_insn(const struct gpubpf_insn *insn)
{
	return insn->kind == GPUBPF_INSN_LOAD || insn->kind == GPUBPF_INSN_STORE || insn->kind == GPUBPF_INSN_ATOMIC;
}

static u64 compute_address(const struct gpubpf_insn *insn, const u64 *reg)
{
	return reg[insn->kind == GPUBPF_INSN_LOAD ? insn->src : insn->dst] + (u64)(s64)insn->off;
}

static bool in_range(const struct gpubpf_access *a, s64 off, u64 size)
{
	return off >= a->off_min && off <= a->off_max && size >= a->size_min && size <= a->size_max;
}

static bool in_stack(const struct gpubpf_access *a, u64 address, u64 size)
{
	u64 frame = (address - GPUBPF_PTR_STACK) / GPUBPF_STACK_SIZE;

	return (a->spaces & GPUBPF_SPACE_STACK) && (a->frame == GPUBPF_ANY_FRAME || a->frame == frame) &&
	       in_range(a, (s64)((address - GPUBPF_PTR_STACK) % GPUBPF_STACK_SIZE) - GPUBPF_STACK_SIZE, size);
}

/*
 * Returns true if the access has the space, alignment and range that the facts state. For an address of 0, the facts
 * must allow NULL.
 */
static bool access_holds(struct host *h, const struct gpubpf_access *a, u64 address, u64 size)
{
	s64 off;
	int map;

	if (!address)
		return a->spaces & GPUBPF_SPACE_NULL;
	if (address % a->align)
		return false;
	if (address >= GPUBPF_PTR_STACK && address < GPUBPF_PTR_CTX)
		return in_stack(a, address, size);
	if (address >= GPUBPF_PTR_CTX && address < GPUBPF_PTR_MAP)
		return (a->spaces & GPUBPF_SPACE_CTX) && (!size || in_range(a, (s64)(address - GPUBPF_PTR_CTX), size));
	if (h->job->mem && address >= (uintptr_t)h->job->mem && address - (uintptr_t)h->job->mem < h->job->mem_size)
		return (a->spaces & GPUBPF_SPACE_MAP_VALUE) && (a->map == GPUBPF_NO_MAP || a->map == GPUBPF_ANY_MAP);
	map = gpubpf_interp_where(h, address, &off);
	if (map < 0)
		return (a->spaces & GPUBPF_SPACE_RECORD) && in_range(a, off, size);
	return (a->spaces & GPUBPF_SPACE_MAP_VALUE) && (a->map == GPUBPF_ANY_MAP || a->map == map) &&
	       in_range(a, off, size);
}

/* Returns the proven uses of a map. A map that can be an element of a map of maps also has its prototype's uses. */
static u32 get_proven_use(const struct host *h, int map)
{
	const struct gpubpf_unit *unit = h->job->unit;
	const u32 *use = h->job->prog->facts->map_use;
	u32 proven = use[map];

	for (u32 p = 0; p < unit->nmaps; p++)
		if (unit->maps[p].prototype && gpubpf_map_is_like(&unit->maps[map], &unit->maps[p]))
			proven |= use[p];
	return proven;
}

/* Returns true if `need` is a proven use of the map whose value has the address, or if no map has the address. */
static bool has_use(struct host *h, u64 address, u32 need)
{
	s64 off;
	int map = address < GPUBPF_PTR_LIMIT ? -1 : gpubpf_interp_where(h, address, &off);

	return map < 0 || (get_proven_use(h, map) & need);
}

/*
 * Returns true if the operation on a map's value is one of the map's proven uses. Lowering relies on these uses: for
 * example, it replicates a map if programs only add to its values.
 */
static bool use_holds(struct host *h, const struct gpubpf_insn *insn, const struct gpubpf_insn_facts *f, u64 address)
{
	bool add = insn->kind == GPUBPF_INSN_ATOMIC && (insn->op == GPUBPF_ATOMIC_ADD || (f->flags & GPUBPF_FACT_UNUSED));
	u32 need = insn->kind == GPUBPF_INSN_LOAD  ? GPUBPF_USE_READ :
		   insn->kind == GPUBPF_INSN_STORE ? GPUBPF_USE_WRITE :
		   add                             ? GPUBPF_USE_ADD :
						     GPUBPF_USE_ATOMIC;

	return has_use(h, address, need);
}

static const char *check_memory_facts(struct host *h, const struct gpubpf_insn *insn, const struct gpubpf_insn_facts *f)
{
	u64 address = compute_address(insn, h->vm.reg);

	if (!access_holds(h, &f->mem, address, insn->width))
		return "the access is outside of the proven range, or less aligned than proven";
	if (!use_holds(h, insn, f, address))
		return "the operation on the map's value is not among those that were proven";
	if ((f->flags & GPUBPF_FACT_RMW_ADD) && h->proof[f->other].address != address)
		return "the store goes to another address than the load of the same add";
	h->proof[h->vm.pc].address = address;
	return NULL;
}

static const char *call_holds(struct host *h, const struct gpubpf_call_facts *call)
{
	const struct gpubpf_helper *helper = gpubpf_insn_helper(&h->job->prog->insns[h->vm.pc]);

	for (int i = 0; i < 5; i++) {
		const struct gpubpf_access *a = &call->arg[i];
		u64 value = h->vm.reg[GPUBPF_R1 + i];

		if ((call->konst_mask >> i & 1) && value != call->konst[i])
			return "an argument is not the number that was proven";
		if (a->spaces && !access_holds(h, a, value, a->spaces & GPUBPF_SPACE_CTX ? 0 : a->size_max))
			return "an argument points to memory other than proven";
		if (helper && helper->arg[i] == GPUBPF_ARG_MAP_WORD && !has_use(h, value, GPUBPF_USE_MAX))
			return "the operation on the map's value is not among those that were proven";
	}
	return NULL;
}

/* Compares the results of the previous instruction with its facts. Returns the violated fact, or NULL. */
static const char *check_result_facts(struct host *h, const struct gpubpf_insn *insn, const struct gpubpf_insn_facts *f)
{
	bool taken = h->vm.pc == insn->target, has_two_targets = insn->target != h->proven_pc + 1;
	bool writes = insn->kind == GPUBPF_INSN_ALU || insn->kind == GPUBPF_INSN_LOAD;

	if (writes && (f->flags & GPUBPF_FACT_CONST) && h->vm.reg[insn->dst] != f->value)
		return "the result is not the number that was proven";
	if (insn->kind == GPUBPF_INSN_CALL && (f->flags & GPUBPF_FACT_CONST) && h->vm.reg[GPUBPF_R0] != f->value)
		return "the helper's result is not the number that was proven";
	if (insn->kind == GPUBPF_INSN_JCOND && has_two_targets &&
	    (f->flags & (taken ? GPUBPF_FACT_NEVER : GPUBPF_FACT_ALWAYS)))
		return "the branch takes the edge that was proven impossible";
	if ((insn->kind == GPUBPF_INSN_JCOND || insn->kind == GPUBPF_INSN_JUMP) && taken && f->trips &&
	    ++h->proof[h->proven_pc].trips > f->trips)
		return "the loop runs more iterations than was proven";
	return NULL;
}

static const char *check(struct host *h)
{
	const struct gpubpf_prog *prog = h->job->prog;
	const struct gpubpf_insn *insn = &prog->insns[h->vm.pc];
	const struct gpubpf_insn_facts *f = &prog->facts->insn[h->vm.pc];
	const char *wrong = h->proven_pc == UINT32_MAX ?
				    NULL :
				    check_result_facts(h, &prog->insns[h->proven_pc], &prog->facts->insn[h->proven_pc]);

	if (wrong)
		return wrong;
	if (!(f->flags & GPUBPF_FACT_REACHED))
		return "it was proven that no path reaches the instruction";
	if (h->vm.executed > prog->facts->cost.insns)
		return "the run takes more instructions than was proven";
	if (h->vm.depth >= prog->facts->frames)
		return "calls nest deeper than was proven";
	if (memory_insn(insn))
		return check_memory_facts(h, insn, f);
	return insn->kind == GPUBPF_INSN_CALL ? call_holds(h, f->call) : NULL;
}

int gpubpf_interp_prove_begin(struct host *h)
{
	h->proven_pc = UINT32_MAX;
	if (!h->job->prog->facts || !h->job->ctx)
		return 0;
	h->proof = calloc(h->job->prog->ninsns, sizeof(*h->proof));
	return h->proof ? 0 : -1;
}

void gpubpf_interp_prove(struct host *h)
{
	const char *wrong;

	if (!h->proof || h->violated)
		return;
	wrong = check(h);
	if (wrong) {
		h->violated = wrong;
		h->broken_pc = h->vm.pc;
	}
	h->proven_pc = h->vm.pc;
}

void gpubpf_interp_prove_end(struct host *h)
{
	free(h->proof);
}

#endif
