/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the gates of links into the kernel table, where agents evaluate them at each launch (core/wire/gate/gate.h). */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/base/unit.h"
#include "gpubpf/arm.h"

struct gpubpf_link_setting gpubpf_gate_setting(const struct gpubpf_session *s, uint32_t link)
{
	const struct gpubpf_link_setting *setting = s->report->settings[link];

	return setting ? *setting : (struct gpubpf_link_setting){ .rule = { .rate = { .sample = 1 } } };
}

int gpubpf_gates_begin(struct gpubpf_session *s, const bool *links)
{
	struct session_report *r = s->report;

	for (uint32_t i = 0; i < GPUBPF_PLAN_LINKS; i++)
		if (links[i] && !r->settings[i] && !(r->settings[i] = calloc(1, sizeof(*r->settings[i]))))
			return gpubpf_session_fail(s, -ENOMEM, "no memory for the setting of link %u", i);
		else if (links[i] && !r->settings[i]->rule.rate.round)
			r->settings[i]->rule.rate.sample = 1;
	r->gates += 2;
	__atomic_store_n(&r->table->gates, r->gates - 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return 0;
}

void gpubpf_gate_set(struct gpubpf_session *s, uint32_t link, const struct gpubpf_link_setting *setting)
{
	struct gpubpf_gate *gate = &s->report->table->gate[link];
	struct gpubpf_link_setting *own = s->report->settings[link];
	uint64_t round = own->rule.rate.round + 1;

	*own = *setting;
	own->rule.rate.round = round;
	gate->rule = own->rule;
	memcpy(gate->term, own->term, sizeof(gate->term));
	gate->exists = 1;
}

void gpubpf_gate_arm(struct gpubpf_session *s, uint32_t link, uint64_t n)
{
	struct gpubpf_gate *gate = &s->report->table->gate[link];

	__atomic_store_n(&gate->granted, __atomic_load_n(&gate->used, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

void gpubpf_gates_publish(struct gpubpf_session *s)
{
	__atomic_store_n(&s->report->table->gates, s->report->gates, __ATOMIC_RELEASE);
}

uint64_t gpubpf_gate_armed(const struct gpubpf_session *s, uint32_t link)
{
	const struct gpubpf_gate *gate = &s->report->table->gate[link];
	uint64_t used = __atomic_load_n(&gate->used, __ATOMIC_RELAXED);
	uint64_t granted = __atomic_load_n(&gate->granted, __ATOMIC_RELAXED);

	return granted > used ? granted - used : 0;
}

/* Returns 1 + the map in which programs of the same object request launches of the program, or 0. */
static uint32_t find_requests(const struct gpubpf_unit *unit, const struct gpubpf_prog *prog)
{
	const size_t n = strlen(GPUBPF_ARMS_PREFIX);

	for (uint32_t i = 0; i < unit->nmaps; i++)
		if (unit->maps[i].map_flags & GPUBPF_F_ARMS && unit->maps[i].object == prog->object &&
		    !strncmp(unit->maps[i].name, GPUBPF_ARMS_PREFIX, n) && !strcmp(unit->maps[i].name + n, prog->name))
			return i + 1;
	return 0;
}

void gpubpf_gates_bind(struct gpubpf_session *s)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);
	bool links[GPUBPF_PLAN_LINKS] = { false }, any = false;

	for (uint32_t i = 0; i < unit->nprogs && i < GPUBPF_PLAN_LINKS; i++)
		any |= links[i] = !gpubpf_gate_setting(s, i).rule.requests && find_requests(unit, &unit->progs[i]);
	if (!any || !s->report->table || gpubpf_gates_begin(s, links) < 0)
		return;
	for (uint32_t i = 0; i < unit->nprogs && i < GPUBPF_PLAN_LINKS; i++) {
		struct gpubpf_link_setting setting = gpubpf_gate_setting(s, i);

		if (!links[i])
			continue;
		setting.rule.waits = 1;
		setting.rule.requests = find_requests(unit, &unit->progs[i]);
		gpubpf_gate_set(s, i, &setting);
	}
	gpubpf_gates_publish(s);
}

void gpubpf_gates_free(struct session_report *report)
{
	for (uint32_t i = 0; i < GPUBPF_PLAN_LINKS; i++)
		free(report->settings[i]);
}
