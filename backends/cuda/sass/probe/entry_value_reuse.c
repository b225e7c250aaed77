/* SPDX-License-Identifier: Apache-2.0 */
#include "entry_value_reuse.h"

#include <errno.h>
#include <stdlib.h>

#include "schedule.h"

#define NOWHERE UINT32_MAX
#define MIN_END_CYCLES 8           /* minimum number of cycles from the last result of the entry probe to the
                                    * end of that probe. The branches to the exit probe take at least as many
                                    * cycles again. */

struct reuse {
	const struct sass_arch *arch;
	struct sass_probe *entry, *exit;
	struct sass_insn_values of_entry[SASS_STRAIGHT_MAX_INSNS], of_exit[SASS_STRAIGHT_MAX_INSNS];
	struct sass_pinned_results entry_results, exit_results;
	bool is_read[SASS_STRAIGHT_MAX_INSNS];
};

static bool is_straight(const struct sass_probe *p)
{
	return p->n && p->n <= SASS_STRAIGHT_MAX_INSNS && !p->diverges;
}

/* Returns the index of the instruction of the entry probe that leaves the same values in registers as instruction
 * `exit` of the exit probe. Returns NOWHERE if there is none. */
static uint32_t find_same_at_entry(const struct reuse *k, uint32_t exit)
{
	const struct sass_insn_values *wanted = &k->of_exit[exit];

	for (uint32_t i = 0; wanted->n && i < k->entry->n; i++)
		if (k->of_entry[i].n == wanted->n &&
		    !memcmp(k->of_entry[i].number, wanted->number, wanted->n * sizeof(*wanted->number)))
			return i;
	return NOWHERE;
}

/* Finds the results of the entry probe that the exit probe can reuse. Sets *any to true if there is such a result. */
static int find_reusable(struct reuse *k, bool *any)
{
	int err;

	*any = sass_number_values(k->entry->insns, k->entry->n, k->of_entry) &&
	       sass_number_values(k->exit->insns, k->exit->n, k->of_exit);
	if (!*any)
		return 0;
	for (uint32_t i = 0; i < k->exit->n; i++)
		k->exit_results.live_in[i] = find_same_at_entry(k, i) != NOWHERE;
	err = sass_schedule_find_read(k->arch, k->exit, &k->exit_results, k->is_read);
	*any = false;
	for (uint32_t i = 0; !err && i < k->exit->n; i++)
		if (k->is_read[i])
			*any = k->entry_results.live_out[find_same_at_entry(k, i)] = true;
	return err;
}

/* Copies a probe. The copy's insns are malloc'd, or NULL if the allocation fails. */
static struct sass_probe copy_of(const struct sass_probe *p)
{
	struct sass_probe copy = *p;

	copy.insns = malloc(p->n * sizeof(*p->insns));
	if (copy.insns)
		memcpy(copy.insns, p->insns, p->n * sizeof(*p->insns));
	return copy;
}

static bool is_fast_result(struct sass_insn insn)
{
	return insn.operand[0].n && !sass_is_slow(insn);
}

/* Extends the stall before the last EXIT until fixed-latency results are ready. The probe must have at least two
 * instructions. */
static void extend_last_stall(struct sass_probe *p)
{
	struct sass_insn *last = &p->insns[p->n - 2];
	unsigned time = 0;
	uint32_t i = p->n - 1;

	do
		time += sass_min_cycles(p->insns[--i]);
	while (i && time < MIN_END_CYCLES && !is_fast_result(p->insns[i]));
	if (time < MIN_END_CYCLES)
		*last = sass_with_yield(sass_with_stall(*last, sass_stall(*last) + MIN_END_CYCLES - time), 0);
}

/* Schedules the entry probe so that the reused results stay in their registers to the end. Schedules the exit probe
 * without the computation of these results. Returns -EINVAL if there is no such schedule. */
static int schedule_both(struct reuse *k, struct sass_probe *entry, struct sass_probe *exit)
{
	int err = sass_schedule_pinned(k->arch, entry, &k->entry_results);

	for (uint32_t i = 0; i < k->exit->n; i++)
		k->exit_results.reg[i] = k->is_read[i] ? k->entry_results.reg[find_same_at_entry(k, i)] : SASS_RZ;
	if (!err)
		err = sass_schedule_pinned(k->arch, exit, &k->exit_results);
	if (err < 0)
		return err;
	extend_last_stall(entry);
	sass_probe_update_usage(entry);
	sass_probe_update_usage(exit);
	return 0;
}

static bool is_proved(const struct reuse *k, const struct sass_probe *entry, const struct sass_probe *exit, uint32_t most)
{
	return entry->regs <= most && exit->regs <= most && exit->n < k->exit->n &&
	       sass_is_equivalent(k->entry->insns, k->entry->n, entry->insns, entry->n) &&
	       sass_is_equivalent_after(entry, k->exit, exit);
}

static void replace(struct sass_probe *p, struct sass_probe *by)
{
	sass_probe_finish(p);
	*p = *by;
	by->insns = NULL;
}

static int reuse_values(struct reuse *k, uint32_t most)
{
	struct sass_probe entry = copy_of(k->entry), exit = copy_of(k->exit);
	int err = entry.insns && exit.insns ? schedule_both(k, &entry, &exit) : -ENOMEM;

	if (!err && is_proved(k, &entry, &exit, most)) {
		replace(k->entry, &entry);
		replace(k->exit, &exit);
	}
	free(entry.insns);
	free(exit.insns);
	return err == -EINVAL ? 0 : err;
}

int sass_reuse_entry_values(const struct sass_arch *arch, struct sass_probe *entry, struct sass_probe *exit, uint32_t most)
{
	struct reuse *k;
	bool any;
	int err;

	if (!is_straight(entry) || !is_straight(exit))
		return 0;
	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->arch = arch;
	k->entry = entry;
	k->exit = exit;
	err = find_reusable(k, &any);
	if (!err && any)
		err = reuse_values(k, most);
	free(k);
	return err;
}
