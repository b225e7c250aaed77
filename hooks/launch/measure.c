/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how long launches run on the device. struct gpubpf_kernel_row stores the shortest time with probes and the
 * shortest time without. The shortest time excludes first runs, for which some runtimes compile, and runs that other
 * work delayed. In struct gpubpf_launch_times the agent counts all launches that programs would measure otherwise.
 * Programs of sections host/kernel get each time.
 */
#include "count.h"
#include "measure.h"

#include <stdlib.h>
#include <string.h>

#include "hooks/host/kernel.h"

#define MAX_DRIFT 1000 /* maximum difference in speed of a device's clock and CLOCK_MONOTONIC, in ppm */
#define MAX_DELAY_NS 100000000 /* a larger difference belongs to the clock of another device */

struct gpubpf_hook_measure {
	struct gpubpf_kernel_row *row;     /* NULL: the launch is not compared */
	struct gpubpf_launch_times *times; /* NULL: the launch is not counted */
	atomic_int users; /* number of events (start, end) that were neither reported nor dropped yet */
	_Atomic uint64_t start, end;
	uint64_t created;
	bool late;
	bool probed;
	bool runs_programs;
	struct gpubpf_host_kernel kernel; /* for these programs */
};

static struct gpubpf_hook_measure *create(const struct gpubpf_hook_launch *l)
{
	const char *name = l->kernel->full_name;
	bool runs = gpubpf_host_is_on(GPUBPF_HOST_KERNEL);
	size_t size = runs ? strlen(name) + 1 : 0;
	struct gpubpf_hook_measure *m = calloc(1, sizeof(*m) + size);

	if (!m || !runs)
		return m;
	m->runs_programs = true;
	gpubpf_host_describe_kernel(l, &m->kernel);
	m->kernel.name = memcpy(m + 1, name, size);
	return m;
}

struct gpubpf_hook_measure *gpubpf_hook_measure(const struct gpubpf_hook_launch *l, bool probed)
{
	struct gpubpf_kernel_table *table = gpubpf_session_kernel_table();
	struct gpubpf_hook_measure *m;
	bool compares;

	if (!table || !l->dispatch)
		return NULL;
	compares = __atomic_load_n(&table->measures, __ATOMIC_RELAXED) && gpubpf_launch_is_timed(l);
	if (!compares && !l->is_timed && !gpubpf_host_is_on(GPUBPF_HOST_KERNEL))
		return NULL;
	m = create(l);
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
	if (start && atomic_load(&m->end) > start) {
		count(m, atomic_load(&m->end) - start);
		if (m->runs_programs)
			gpubpf_host_run_kernel(&m->kernel, start, atomic_load(&m->end));
	}
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

/*
 * Returns the number to add to times of the device's clock. The runtime accepts a launch shortly after `created`, so the
 * largest difference of the last launches is the closest. Kernels of one queue keep their order.
 */
static uint64_t clock_offset(const struct gpubpf_hook_measure *m, uint64_t queued)
{
	static struct {
		pthread_mutex_t lock;
		uint64_t created;
		int64_t offset;
	} last = { .lock = PTHREAD_MUTEX_INITIALIZER };
	int64_t offset = (int64_t)(m->created - queued), kept;

	pthread_mutex_lock(&last.lock);
	kept = last.offset - (int64_t)(m->created > last.created ? m->created - last.created : 0) / (1000000 / MAX_DRIFT);
	if (last.created && offset < kept && kept - offset < MAX_DELAY_NS)
		offset = kept;
	last.offset = offset;
	last.created = m->created > last.created ? m->created : last.created;
	pthread_mutex_unlock(&last.lock);
	return (uint64_t)offset;
}

void gpubpf_hook_measure_times(struct gpubpf_hook_measure *m, uint64_t queued, uint64_t start, uint64_t end)
{
	uint64_t offset;

	if (!m->runs_programs) {
		gpubpf_hook_measure_ns(m, end - start);
		return;
	}
	offset = clock_offset(m, queued);
	m->late = false;
	atomic_store(&m->start, start + offset);
	atomic_store(&m->end, end + offset);
	gpubpf_hook_measure_drop(m);
	gpubpf_hook_measure_drop(m);
}
