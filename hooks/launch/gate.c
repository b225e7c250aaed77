/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluates the gates of a kernel's links at a launch. Without gates the cost is one load. The checks that only read
 * come first. Only a launch that passes them uses up a part of `first`, `every` or the armed launches.
 */
#include "gate.h"

#include <stdlib.h>

#define MAX_READS 1000 /* attempts to read gates while the tool writes them, which takes microseconds */

/* Find or add the state. Returns NULL if out of memory. States stay until the entry ends, so readers take no lock. */
static struct gpubpf_gate_state *state_of(struct gpubpf_kernel_entry *entry, uint32_t link)
{
	struct gpubpf_gate_state *first = atomic_load_explicit(&entry->gates, memory_order_acquire), *s, *own = NULL;

	for (;;) {
		for (s = first; s && s->link != link; s = s->next)
			;
		if (s || (!own && !(own = calloc(1, sizeof(*own))))) {
			free(own);
			return s;
		}
		own->link = link;
		own->next = first;
		if (atomic_compare_exchange_strong(&entry->gates, &first, own))
			return own;
	}
}

/* As for the session's rate (launch.c): only one of several threads gets the launch that is due. */
static bool is_due(struct gpubpf_gate_state *s, uint64_t every)
{
	uint64_t now, from;

	if (!every)
		return true;
	from = atomic_load(&s->every_from_ns);
	now = gpubpf_now_ns();
	return (!from || now - from >= every) && atomic_compare_exchange_strong(&s->every_from_ns, &from, now);
}

static bool is_within_first(struct gpubpf_gate_state *s, const struct gpubpf_rate *rate)
{
	uint64_t seen = atomic_load_explicit(&s->round, memory_order_relaxed);

	if (!rate->first)
		return true;
	if (seen != rate->round && atomic_compare_exchange_strong(&s->round, &seen, rate->round))
		atomic_store(&s->admitted, 0);
	return atomic_load(&s->admitted) < rate->first && atomic_fetch_add(&s->admitted, 1) < rate->first;
}

/* Grant n launches to each link that waits for these requests. They replace the rest of an earlier request. */
static void grant(struct gpubpf_kernel_table *table, uint32_t requests, uint64_t n)
{
	for (uint32_t i = 0; i < GPUBPF_PLAN_LINKS; i++)
		if (table->gate[i].rule.requests == requests)
			__atomic_store_n(&table->gate[i].granted,
					 __atomic_load_n(&table->gate[i].used, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

/* Carry out a program's request. A new one may arrive at any time, so the agent takes it by an atomic exchange. */
static void take_request(struct gpubpf_kernel_table *table, uint32_t requests, const struct gpubpf_hook_launch *l)
{
	uint64_t *word = gpubpf_external_map_word(l->device, requests - 1), request;

	if (!word) {
		gpubpf_log_once("programs cannot arm others on the %s device %u, because the map is not in memory that the "
				"host shares; add --place MAP=pinned",
				l->device->ops->backend, l->device->ordinal);
		return;
	}
	if (!__atomic_load_n(word, __ATOMIC_RELAXED))
		return;
	request = __atomic_exchange_n(word, 0, __ATOMIC_ACQUIRE);
	if (request)
		grant(table, requests, request - 1);
}

static bool is_armed(const struct gpubpf_gate *gate)
{
	return __atomic_load_n(&gate->used, __ATOMIC_RELAXED) < __atomic_load_n(&gate->granted, __ATOMIC_RELAXED);
}

/* Use up one armed launch. Returns false if none is left. */
static bool take_armed(struct gpubpf_gate *gate)
{
	uint64_t used = __atomic_load_n(&gate->used, __ATOMIC_RELAXED);

	while (used < __atomic_load_n(&gate->granted, __ATOMIC_RELAXED))
		if (__atomic_compare_exchange_n(&gate->used, &used, used + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
	return false;
}

/*
 * The links of a kernel's twin that a launch chooses, as bits of their indices in all->links. The choice has two steps:
 * the first one only reads, and the second one uses up launches.
 */
struct choice {
	struct gpubpf_kernel_table *table;
	const struct gpubpf_hook_binding *all;
	uint64_t chosen[GPUBPF_PLAN_LINKS / 64];
	uint32_t n;
	enum gpubpf_miss miss; /* why the last excluded link is excluded */
};

static void set_chosen(struct choice *c, uint32_t i, enum gpubpf_miss miss)
{
	uint64_t bit = 1ull << i % 64;

	c->n -= c->chosen[i / 64] & bit ? 1 : 0;
	c->chosen[i / 64] &= ~bit;
	if (miss != GPUBPF_MISSES) {
		c->miss = miss;
		return;
	}
	c->chosen[i / 64] |= bit;
	c->n++;
}

/* Returns GPUBPF_MISSES if the gate may admit the launch, else the reason. */
static enum gpubpf_miss check_gate(struct gpubpf_kernel_table *table, const struct gpubpf_gate *gate,
				   const struct gpubpf_hook_launch *l)
{
	if (!gate->exists)
		return GPUBPF_MISSES;
	if (gate->rule.rate.sample > 1 && l->number % gate->rule.rate.sample)
		return GPUBPF_MISS_SAMPLED;
	if (gate->rule.waits && gate->rule.requests)
		take_request(table, gate->rule.requests, l);
	if (gate->rule.waits && !is_armed(gate))
		return GPUBPF_MISS_UNARMED;
	return gpubpf_gate_matches(gate->term, gate->rule.nterms, l) ? GPUBPF_MISSES : GPUBPF_MISS_FILTERED;
}

/* Check all gates against one version of them. If the tool keeps writing, no link is chosen. */
static void check_gates(struct choice *c, const struct gpubpf_hook_launch *l)
{
	for (int reads = 0; reads < MAX_READS; reads++) {
		uint64_t version = __atomic_load_n(&c->table->gates, __ATOMIC_ACQUIRE);

		if (version & 1)
			continue;
		for (uint32_t i = 0; i < c->all->nlinks; i++)
			set_chosen(c, i, check_gate(c->table, &c->table->gate[c->all->links[i]], l));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&c->table->gates, __ATOMIC_RELAXED) == version)
			return;
	}
	for (uint32_t i = 0; i < c->all->nlinks; i++)
		set_chosen(c, i, GPUBPF_MISS_FILTERED);
}

/* Use up one launch of the gate's limits. Returns GPUBPF_MISSES, or the limit that is reached. */
static enum gpubpf_miss use_up(struct gpubpf_gate *gate, struct gpubpf_gate_state *state)
{
	if (!state || !is_due(state, gate->rule.rate.every_ns))
		return GPUBPF_MISS_SAMPLED;
	if (!is_within_first(state, &gate->rule.rate))
		return GPUBPF_MISS_FIRST;
	return gate->rule.waits && !take_armed(gate) ? GPUBPF_MISS_UNARMED : GPUBPF_MISSES;
}

static void use_up_gates(struct choice *c, const struct gpubpf_hook_launch *l)
{
	for (uint32_t i = 0; i < c->all->nlinks; i++) {
		uint32_t link = c->all->links[i];
		struct gpubpf_gate *gate = &c->table->gate[link];

		if (c->chosen[i / 64] >> i % 64 & 1 && gate->exists)
			set_chosen(c, i, use_up(gate, state_of(l->dispatch->entry, link)));
	}
}

/* Returns the twin with the chosen links, or NULL with the reason in l->miss. */
static const struct gpubpf_hook_binding *use_part(struct gpubpf_hook_launch *l, const struct choice *c)
{
	const struct gpubpf_hook_binding *b = gpubpf_subset_find(l, c->all, c->chosen, c->n);

	if (!b)
		l->miss = GPUBPF_MISS_LATE;
	else if (!b->twin)
		l->miss = b->has_no_place ? GPUBPF_MISS_NO_PLACE : GPUBPF_MISS_REFUSED;
	return b && b->twin ? b : NULL;
}

static const struct gpubpf_hook_binding *choose(struct gpubpf_hook_launch *l, struct gpubpf_kernel_table *table,
						const struct gpubpf_hook_binding *all)
{
	struct choice c = { .table = table, .all = all };

	check_gates(&c, l);
	use_up_gates(&c, l);
	if (c.n == all->nlinks)
		return all;
	l->miss = c.miss;
	return c.n ? use_part(l, &c) : NULL;
}

const struct gpubpf_hook_binding *gpubpf_gate_choose(struct gpubpf_hook_launch *l, const struct gpubpf_hook_binding *binding)
{
	struct gpubpf_kernel_table *table = gpubpf_session_kernel_table();

	if (!table || !__atomic_load_n(&table->gates, __ATOMIC_RELAXED))
		return binding;
	return choose(l, table, binding);
}

bool gpubpf_gate_admits_timed(struct gpubpf_hook_launch *l)
{
	struct gpubpf_kernel_table *table = gpubpf_session_kernel_table();
	const struct gpubpf_link_set *links = &l->dispatch->timed_links;

	if (!table || !__atomic_load_n(&table->gates, __ATOMIC_RELAXED))
		return true;
	for (uint32_t link = 0; (link = gpubpf_link_set_next(links, link)) < GPUBPF_PLAN_LINKS; link++) {
		struct gpubpf_gate *gate = &table->gate[link];
		enum gpubpf_miss miss = check_gate(table, gate, l);

		if (miss == GPUBPF_MISSES && gate->exists)
			miss = use_up(gate, state_of(l->dispatch->entry, link));
		if (miss == GPUBPF_MISSES)
			continue;
		l->miss = miss;
		return false;
	}
	return true;
}
