/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how long launches run on the device. struct gpubpf_kernel_row stores the shortest time with probes and the
 * shortest time without. The shortest time excludes first runs, for which some runtimes compile, and runs that other
 * work delayed. In struct gpubpf_launch_times the agent counts all launches that programs would measure otherwise.
 */
#include "count.h"

#include <stdlib.h>

struct gpubpf_hook_measure {
	struct gpubpf_kernel_row *row;     /* NULL: the launch is not compared */
	struct gpubpf_launch_times *times; /* NULL: the launch is not counted */
	atomic_int users; /* number of events (start, end) that were neither reported nor dropped yet */
	_Atomic uint64_t start, end;
	uint64_t created;
	bool late;
	bool probed;
};

struct gpubpf_hook_measure *gpubpf_hook_measure(const struct gpubpf_hook_launch *l, bool probed)
{
	struct gpubpf_kernel_table *table = gpubpf_session_kernel_table();
	struct gpubpf_hook_measure *m;
	bool compares;

	if (!table || !l->dispatch)
		return NULL;
	compares = __atomic_load_n(&table->measures, __ATOMIC_RELAXED) && gpubpf_launch_is_timed(l);
	if (!compares && !l->is_timed)
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->row = compares ? l->dispatch->entry->shared : NULL;
	m->times = l->is_timed ? gpubpf_entry_times(l->dispatch->entry) : NULL;
	m->probed = probed;
	m->created = gpubpf_now_ns();
	atomic_init(&m->users, 2);
	return m;
}

/* Returns the slot of a time in struct gpubpf_quantiles of <gpubpf/probe.h>: eight slots per power of two. */
static uint32_t slot_of(uint64_t ns)
{
	uint32_t power = ns >> 3 ? 64 - __builtin_clzll(ns >> 3) : 0;
	uint64_t slot = power ? (power << 3) + (ns >> (power - 1) & 7) : ns;

	return slot < GPUBPF_LAUNCH_TIME_SLOTS ? (uint32_t)slot : GPUBPF_LAUNCH_TIME_SLOTS - 1;
}

static void add_time(struct gpubpf_launch_times *times, uint64_t ns)
{
	gpubpf_kernel_table_add(&times->slot[slot_of(ns)], 1);
	gpubpf_kernel_table_add(&times->sum, ns);
	__atomic_fetch_add(&times->count, 1, __ATOMIC_RELEASE);
}

static void compare(const struct gpubpf_hook_measure *m, uint64_t ns)
{
	int probed = m->probed;
	uint64_t *shortest = &m->row->run_ns[probed];
	uint64_t known = __atomic_load_n(shortest, __ATOMIC_RELAXED);

	while ((!known || ns < known) &&
	       !__atomic_compare_exchange_n(shortest, &known, ns, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	__atomic_fetch_add(&m->row->runs[probed], 1, __ATOMIC_RELEASE);
}

static void count(const struct gpubpf_hook_measure *m, uint64_t ns)
{
	if (m->row)
		compare(m, ns);
	if (m->times)
		add_time(m->times, ns);
}

void gpubpf_hook_measure_drop(struct gpubpf_hook_measure *m)
{
	uint64_t start;

	if (atomic_fetch_sub(&m->users, 1) > 1)
		return;
	start = m->late ? m->created : atomic_load(&m->start);
	if (start && atomic_load(&m->end) > start)
		count(m, atomic_load(&m->end) - start);
	free(m);
}

void gpubpf_hook_measure_start(struct gpubpf_hook_measure *m)
{
	atomic_store(&m->start, gpubpf_now_ns());
	gpubpf_hook_measure_drop(m);
}

void gpubpf_hook_measure_late(struct gpubpf_hook_measure *m)
{
	m->late = true;
}

void gpubpf_hook_measure_end(struct gpubpf_hook_measure *m)
{
	atomic_store(&m->end, gpubpf_now_ns());
	gpubpf_hook_measure_drop(m);
}

void gpubpf_hook_measure_ns(struct gpubpf_hook_measure *m, uint64_t ns)
{
	m->late = false;
	atomic_store(&m->start, 1);
	atomic_store(&m->end, 1 + ns);
	gpubpf_hook_measure_drop(m);
	gpubpf_hook_measure_drop(m);
}
