/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes maps whose values are only sums, and programs that only add to such maps. */
#include "sums.h"

#include "core/model/facts.h"
#include "maps/impl.h"

/*
 * Returns true if the program's adds to the map may be delayed. A program with a fence must not delay its earlier adds.
 * A program that ends threads does not reach the function's exits, where delayed adds are done.
 */
static bool may_delay_adds(const struct gpubpf_prog *prog, uint32_t map)
{
	if (prog->facts->ends_thread ||
	    prog->facts->map_use[map] & (GPUBPF_USE_READ | GPUBPF_USE_UPDATE | GPUBPF_USE_DELETE))
		return false;
	for (uint32_t i = 0; i < prog->ninsns; i++) {
		const struct gpubpf_insn *insn = &prog->insns[i];
		const struct gpubpf_helper *helper = gpubpf_insn_helper(insn);

		if ((helper && helper->op == GPUBPF_OP_FENCE) || (insn->ordered && insn->kind == GPUBPF_INSN_STORE))
			return false;
	}
	return true;
}

/* Considers only the programs of the job's sites, because other programs have no facts in this process. */
uint32_t lower_counter_values(const struct gpubpf_lower_job *job, uint32_t map)
{
	const struct gpubpf_unit *unit = job->unit;
	const struct gpubpf_map *m = &unit->maps[map];

	if (!(job->layouts[map].flags & (GPUBPF_LAYOUT_SUM8 | GPUBPF_LAYOUT_SUM4)) ||
	    job->layouts[map].flags & GPUBPF_LAYOUT_LIVE || m->type->impl != &gpubpf_array_impl)
		return 0;
	for (uint32_t i = 0; i < unit->nprogs; i++)
		if (unit->progs[i].facts && !may_delay_adds(&unit->progs[i], map))
			return 0;
	return m->max_entries;
}

/* Returns true if the helper's result depends on the time of the call, or if others can observe the call. */
static bool depends_on_time(const struct gpubpf_helper *helper)
{
	/*
	 * the helper copies bytes of the application's memory, which may change; facts about an allocation do not
	 * change
	 */
	bool copies = false;

	if (helper->class != GPUBPF_CLASS_ENV && helper->class != GPUBPF_CLASS_MAP)
		return true;
	for (int i = 0; i < 5; i++)
		copies |= helper->arg[i] == GPUBPF_ARG_SIZE_OR_ZERO;
	return !(helper->op == GPUBPF_OP_NONE || helper->op == GPUBPF_OP_PID || helper->op == GPUBPF_OP_LOOKUP ||
		 (helper->op == GPUBPF_OP_ALLOCATION && !copies));
}

static bool only_adds(const struct gpubpf_lower_job *job, const struct gpubpf_prog *prog)
{
	const uint32_t adds = GPUBPF_USE_ADD | GPUBPF_USE_ADD4 | GPUBPF_USE_ADD8;

	if (!prog->facts || prog->facts->ends_thread)
		return false;
	for (uint32_t i = 0; i < job->unit->nmaps; i++) {
		uint32_t use = prog->facts->map_use[i];

		if (use & ~(GPUBPF_USE_LOOKUP | adds) || (use && job->unit->maps[i].type->impl != &gpubpf_array_impl) ||
		    (use & adds && !lower_counter_values(job, i)))
			return false;
	}
	for (uint32_t i = 0; i < prog->ninsns; i++) {
		const struct gpubpf_helper *helper = gpubpf_insn_helper(&prog->insns[i]);

		if (helper && depends_on_time(helper))
			return false;
	}
	return true;
}

bool lower_is_loop_free(const struct gpubpf_prog *prog)
{
	for (uint32_t pc = 0; pc < prog->ninsns; pc++) {
		const struct gpubpf_insn *insn = &prog->insns[pc];
		const struct gpubpf_helper *helper = gpubpf_insn_helper(insn);

		if (insn->kind == GPUBPF_INSN_CALL_LOCAL ||
		    (helper && (helper->class == GPUBPF_CLASS_LOOP || helper->op == GPUBPF_OP_TAIL_CALL)) ||
		    ((insn->kind == GPUBPF_INSN_JUMP || insn->kind == GPUBPF_INSN_JCOND) && insn->target <= pc))
			return false;
	}
	return true;
}

bool lower_only_adds(const struct gpubpf_lower_job *job, const struct gpubpf_site_desc *site)
{
	for (uint32_t i = 0; i < site->nprogs; i++)
		if (!only_adds(job, &job->unit->progs[site->progs[i]]))
			return false;
	return !job->checked && !job->plain_mem;
}
