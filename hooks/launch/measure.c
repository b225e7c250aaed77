/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how long launches run on the device. struct gpubpf_kernel_row stores the shortest time with probes and the
 * shortest time without. The shortest time excludes first runs, for which some runtimes compile, and runs that other
 * work delayed.
 */
#include "count.h"

#include <stdlib.h>

struct gpubpf_hook_measure {
	struct gpubpf_kernel_row *row;
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

	if (!table || !__atomic_load_n(&table->measures, __ATOMIC_RELAXED) || !l->dispatch || !gpubpf_launch_is_timed(l))
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->row = l->dispatch->entry->shared;
	m->probed = probed;
	m->created = gpubpf_now_ns();
	atomic_init(&m->users, 2);
	return m;
}

static void count(const struct gpubpf_hook_measure *m, uint64_t start)
{
	int probed = m->probed;
	uint64_t ns = atomic_load(&m->end) - start, *shortest = &m->row->run_ns[probed];
	uint64_t known = __atomic_load_n(shortest, __ATOMIC_RELAXED);

	while ((!known || ns < known) &&
	       !__atomic_compare_exchange_n(shortest, &known, ns, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	__atomic_fetch_add(&m->row->runs[probed], 1, __ATOMIC_RELEASE);
}

void gpubpf_hook_measure_drop(struct gpubpf_hook_measure *m)
{
	uint64_t start;

	if (atomic_fetch_sub(&m->users, 1) > 1)
		return;
	start = m->late ? m->created : atomic_load(&m->start);
	if (start && atomic_load(&m->end) > start)
		count(m, start);
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
