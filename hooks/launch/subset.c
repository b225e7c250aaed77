/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the twins of a kernel that contain only a part of its links. A launch looks up the twin without a lock. An agent
 * thread builds a missing one. The first launches of a kernel wait for it. Later ones, also after a
 * session attach, never wait: they run unprobed meanwhile.
 */
#include "gate.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent_job.h"
#include "twin.h"

#define NAP_NS 200000 /* in ns; a launch that waits for a twin checks this often whether it is built */

/* The links of a binding whose index has a bit in `chosen`. */
struct part {
	const struct gpubpf_hook_binding *all;
	const uint64_t *chosen;
	uint32_t n, registers;
};

static bool is_chosen(const struct part *part, uint32_t i)
{
	return part->chosen[i / 64] >> i % 64 & 1;
}

static bool has_links_of(const struct gpubpf_twin_subset *s, const struct part *part)
{
	uint32_t at = 0;

	if (s->registers != part->registers || s->nlinks != part->n)
		return false;
	for (uint32_t i = 0; i < part->all->nlinks; i++)
		if (is_chosen(part, i) && s->links[at++] != part->all->links[i])
			return false;
	return true;
}

static struct gpubpf_twin_subset *find(struct gpubpf_twin_subset *s, const struct part *part)
{
	while (s && !has_links_of(s, part))
		s = s->next;
	return s;
}

static struct gpubpf_twin_subset *create(const struct part *part)
{
	struct gpubpf_twin_subset *s = calloc(1, sizeof(*s) + part->n * sizeof(*s->links));

	if (!s)
		return NULL;
	s->registers = part->registers;
	atomic_store(&s->tried, GPUBPF_NO_PLAN);
	for (uint32_t i = 0; i < part->all->nlinks; i++)
		if (is_chosen(part, i))
			s->links[s->nlinks++] = part->all->links[i];
	return s;
}

static struct gpubpf_twin_subset *find_or_add(struct gpubpf_dispatch_entry *dispatch, const struct part *part)
{
	struct gpubpf_twin_subset *first = atomic_load_explicit(&dispatch->subsets, memory_order_acquire), *s;
	struct gpubpf_twin_subset *own = NULL;

	for (;;) {
		s = find(first, part);
		if (s || (!own && !(own = create(part)))) {
			free(own);
			return s;
		}
		own->next = first;
		if (atomic_compare_exchange_strong(&dispatch->subsets, &first, own))
			return own;
	}
}

/* The twin is not built yet, and was not tried for the present plan. */
static bool is_pending(const struct gpubpf_twin_subset *s)
{
	return !atomic_load_explicit(&s->binding, memory_order_acquire) &&
	       atomic_load(&s->tried) != gpubpf_plan_generation();
}

/* Wait until an agent thread has built the twin, at most for the rest of the process's budget. */
static void wait_for_twin(struct gpubpf_hook_launch *l, const struct gpubpf_twin_subset *s)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	uint64_t from = gpubpf_now_ns(), until = gpubpf_wait_budget_begin(), waited;

	while (is_pending(s) && gpubpf_now_ns() < until)
		nanosleep(&nap, NULL);
	gpubpf_wait_budget_end();
	waited = gpubpf_now_ns() - from;
	l->waited_ns += waited;
	gpubpf_kernel_table_add(&l->dispatch->entry->shared->wait_ns, waited);
}

/* The first launches of a kernel may wait. Later ones must not, so changes of gates and programs stall no launch. */
static bool may_wait(const struct gpubpf_hook_launch *l)
{
	return !gpubpf_hook_callbacks && !__atomic_load_n(&l->dispatch->entry->shared->launches, __ATOMIC_RELAXED) &&
	       gpubpf_wait_budget_is_left();
}

const struct gpubpf_hook_binding *gpubpf_subset_find(struct gpubpf_hook_launch *l, const struct gpubpf_hook_binding *all,
						     const uint64_t *chosen, uint32_t n)
{
	const struct part part = { all, chosen, n, atomic_load(&l->dispatch->registers) };
	struct gpubpf_twin_subset *s = find_or_add(l->dispatch, &part);

	if (!s)
		return NULL;
	if (is_pending(s) && gpubpf_agent_job_start(l->dispatch) && may_wait(l))
		wait_for_twin(l, s);
	return atomic_load_explicit(&s->binding, memory_order_acquire);
}

/* Remove from the plan all links that the subset does not contain. */
static void reduce(struct gpubpf_plan *plan, const struct gpubpf_twin_subset *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < plan->n; i++)
		if (gpubpf_twin_contains_link(s->links, s->nlinks, plan->entry[i].link))
			plan->entry[n++] = plan->entry[i];
	plan->n = n;
}

static void build(struct gpubpf_dispatch_entry *dispatch, struct gpubpf_twin_subset *s)
{
	struct gpubpf_plan *plan = gpubpf_plan_read();
	const struct gpubpf_hook_binding *b;

	if (!plan)
		return;
	reduce(plan, s);
	if (plan->n && s->registers == atomic_load(&dispatch->registers)) {
		b = gpubpf_twin_build_binding(dispatch, plan, s->registers);
		if (b && b->nlinks == s->nlinks && !memcmp(b->links, s->links, s->nlinks * sizeof(*s->links)))
			atomic_store_explicit(&s->binding, b, memory_order_release);
	}
	atomic_store(&s->tried, plan->generation);
	free(plan);
}

void gpubpf_subsets_build(struct gpubpf_dispatch_entry *dispatch)
{
	struct gpubpf_twin_subset *s = atomic_load_explicit(&dispatch->subsets, memory_order_acquire);

	for (; s && !gpubpf_agent_job_is_over(dispatch->kernel); s = s->next)
		if (!atomic_load(&s->binding) && atomic_load(&s->tried) != gpubpf_plan_generation())
			build(dispatch, s);
}

void gpubpf_subsets_free(struct gpubpf_dispatch_entry *dispatch)
{
	struct gpubpf_twin_subset *s = atomic_exchange(&dispatch->subsets, NULL), *next;

	for (; s; s = next) {
		next = s->next;
		free(s);
	}
}
