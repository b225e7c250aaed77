/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the plan, the list of attached BPF programs. The tool writes the plan into the kernel table and does not notify
 * agents. A launch compares the generation of its dispatch entry with the generation in the table. It reads the plan
 * only if they differ. The reader gets a private copy.
 */
#include "hooks/agent.h"

#include <stdlib.h>
#include <string.h>

#include "core/wire/match.h"

#define MAX_WRITE_NS 2000000ull /* how long a reader waits for the tool, which takes microseconds to write a plan */

/* Returns a malloc'd copy. NULL: out of memory, or the tool changed the plan during the copy. */
static struct gpubpf_plan *copy_plan(const struct gpubpf_kernel_table *table)
{
	uint64_t generation = __atomic_load_n(&table->plan, __ATOMIC_ACQUIRE), n = 0;
	struct gpubpf_plan *plan;

	if (!(generation & 1))
		n = __atomic_load_n(&table->nplan, __ATOMIC_RELAXED);
	if (generation & 1 || n > GPUBPF_PLAN_LINKS)
		return NULL;
	plan = malloc(sizeof(*plan) + n * sizeof(*plan->entry));
	if (!plan)
		return NULL;
	plan->generation = generation;
	plan->n = n;
	memcpy(plan->entry, table->entry, n * sizeof(*plan->entry));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&table->plan, __ATOMIC_RELAXED) == generation)
		return plan;
	free(plan);
	return NULL;
}

struct gpubpf_plan *gpubpf_plan_read(void)
{
	const struct gpubpf_kernel_table *table = gpubpf_session_kernel_table();
	uint64_t until = gpubpf_now_ns() + MAX_WRITE_NS;
	struct gpubpf_plan *plan = NULL;

	while (table && !(plan = copy_plan(table)) && gpubpf_now_ns() < until)
		;
	for (uint32_t i = 0; plan && i < plan->n; i++) {
		struct gpubpf_plan_entry *e = &plan->entry[i];

		e->pattern[sizeof(e->pattern) - 1] = 0;
		e->link %= GPUBPF_PLAN_LINKS;
	}
	return plan;
}

uint32_t gpubpf_plan_links(const struct gpubpf_plan *plan, const char *name, uint32_t *links)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < plan->n; i++)
		if (gpubpf_pattern_matches(plan->entry[i].pattern, name))
			links[n++] = plan->entry[i].link;
	return n;
}

bool gpubpf_plan_matches(const struct gpubpf_plan *plan, const char *name)
{
	for (uint32_t i = 0; i < plan->n; i++)
		if (gpubpf_pattern_matches(plan->entry[i].pattern, name))
			return true;
	return false;
}

bool gpubpf_plan_remove_times(struct gpubpf_plan *plan, const char *name, struct gpubpf_link_set *links)
{
	uint64_t word[GPUBPF_PLAN_LINKS / 64] = { 0 };
	uint32_t n = 0;
	bool any = false;

	for (uint32_t i = 0; i < plan->n; i++) {
		const struct gpubpf_plan_entry *e = &plan->entry[i];

		if (!(e->flags & GPUBPF_PLAN_TIMES)) {
			plan->entry[n++] = *e;
		} else if (gpubpf_pattern_matches(e->pattern, name)) {
			word[e->link / 64] |= 1ull << e->link % 64;
			any = true;
		}
	}
	plan->n = n;
	for (uint32_t i = 0; i < GPUBPF_PLAN_LINKS / 64; i++)
		atomic_store_explicit(&links->word[i], word[i], memory_order_relaxed);
	return any;
}

bool gpubpf_plan_has_times(void)
{
	struct gpubpf_plan *plan = gpubpf_plan_read();
	bool has = false;

	for (uint32_t i = 0; plan && i < plan->n; i++)
		has |= plan->entry[i].flags & GPUBPF_PLAN_TIMES;
	free(plan);
	return has;
}

bool gpubpf_plan_matches_now(const char *name)
{
	struct gpubpf_plan *plan = gpubpf_plan_read();
	bool wants = plan && gpubpf_plan_matches(plan, name);

	free(plan);
	return wants;
}
