/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up the costs of a session: the time that the session spent on twins, and the time that applications waited for
 * twins.
 */
#include "core/session/base/sized.h"
#include "private.h"

/*
 * Split the time that applications waited into the parts that agents counted, and the rest. The session does not trust
 * agents. So each part is limited such that the parts add up to the total.
 */
static void split_wait_ns(const struct gpubpf_session *s, struct gpubpf_cost_stats *c)
{
	uint64_t *const part[GPUBPF_WAIT_PARTS] = {
		&c->wait_ask_ns,
		&c->wait_answer_ns,
		&c->wait_load_ns,
		&c->wait_others_ns,
	};
	uint64_t left = c->wait_ns;

	for (int i = 0; i < GPUBPF_WAIT_PARTS; i++) {
		*part[i] = __atomic_load_n(&s->report->table->wait_ns[i], __ATOMIC_RELAXED);
		*part[i] = *part[i] < left ? *part[i] : left;
		left -= *part[i];
	}
	c->wait_rest_ns = left;
}

int gpubpf_session__cost(const struct gpubpf_session *s, struct gpubpf_cost_stats *stats)
{
	struct gpubpf_cost_stats all = *gpubpf_session_costs(s);

	gpubpf_kernel_table_times(s, &all.wait_ns, &all.twin_load_ns);
	all.hook_ns = gpubpf_kernel_table_hook_ns(s);
	if (s->report->table) {
		all.drained_bytes = __atomic_load_n(&s->report->table->drained_bytes, __ATOMIC_RELAXED);
		split_wait_ns(s, &all);
		all.drain_ns = __atomic_load_n(&s->report->table->drain_ns, __ATOMIC_RELAXED);
	}
	return gpubpf_sized_copy_out(stats, sizeof(all), &all);
}
