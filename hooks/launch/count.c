/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts launches in the kernel table: their number, the time that they spend in the agent, and why they are not
 * probed.
 */
#include "count.h"

#define TIMED_INTERVAL 64 /* the first 64 launches of an entry and then every 64th are timed, for reports */

/*
 * Returns true if the kernel or the device was created by the parent of a fork. Their state belongs to the parent, so
 * this process launches the original.
 */
bool gpubpf_launch_is_inherited(const struct gpubpf_hook_launch *l)
{
	uint32_t generation = gpubpf_session_generation();

	return l->kernel->generation != generation || l->device->generation != generation;
}

bool gpubpf_launch_is_timed(const struct gpubpf_hook_launch *l)
{
	return l->number < TIMED_INTERVAL || l->number % TIMED_INTERVAL == 1;
}

void gpubpf_count_shape(struct gpubpf_kernel_row *k, const struct gpubpf_hook_launch *l)
{
	__atomic_store_n(&k->dim, l->dim, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++) {
		__atomic_store_n(&k->grid[i], l->grid[i], __ATOMIC_RELAXED);
		__atomic_store_n(&k->block[i], l->block[i], __ATOMIC_RELAXED);
	}
}

/*
 * Increment missed[] before `launches`, so that readers never see more launches than reasons (struct
 * gpubpf_kernel_row).
 */
void gpubpf_count_missed(struct gpubpf_kernel_row *k, enum gpubpf_miss miss)
{
	gpubpf_kernel_table_add(&k->missed[miss], 1);
	gpubpf_kernel_table_add(&k->launches, 1);
}

enum gpubpf_miss gpubpf_miss_reason(const char *kernel)
{
	if (!gpubpf_session_enabled())
		return GPUBPF_MISS_STOPPED;
	return gpubpf_plan_matches_now(kernel) ? GPUBPF_MISS_UNSUPPORTED : GPUBPF_MISS_UNATTACHED;
}

/*
 * Returns true if no launch has run a twin of the kernel and the kernel is not refused. Then the row's state comes from
 * a prefetch.
 */
static bool is_unlaunched(const struct gpubpf_kernel_row *k)
{
	return k->state != GPUBPF_KERNEL_REFUSED && !__atomic_load_n(&k->probed, __ATOMIC_RELAXED);
}

void gpubpf_count_unprobed(struct gpubpf_kernel_entry *entry, const struct gpubpf_hook_launch *l, enum gpubpf_miss miss,
			   enum gpubpf_kernel_state state, const char *reason)
{
	struct gpubpf_kernel_row *k = entry->shared;

	atomic_fetch_add_explicit(&entry->number, 1, memory_order_relaxed);
	gpubpf_count_missed(k, miss);
	gpubpf_count_shape(k, l);
	if (miss == GPUBPF_MISS_UNSUPPORTED && !k->reason[0])
		gpubpf_kernel_table_set_state(entry, is_unlaunched(k) ? state : k->state, reason);
}

void gpubpf_hook_count_unknown(struct gpubpf_hook_device *device, const char *name, const char *reason)
{
	const struct gpubpf_hook_launch nothing = { 0 };
	struct gpubpf_kernel_entry *entry;

	if (gpubpf_generation_is_inherited(device->generation))
		return;
	entry = gpubpf_kernel_entry(name, device->ops->backend, device->ordinal, true);
	if (entry)
		gpubpf_count_unprobed(entry, &nothing,
				      gpubpf_session_enabled() ? GPUBPF_MISS_UNSUPPORTED : GPUBPF_MISS_STOPPED,
				      GPUBPF_KERNEL_REFUSED, reason);
}

void gpubpf_note_written(struct gpubpf_hook_device *d)
{
	/* must be read after `running` was incremented; see clear_dirty() in hooks/device/copy_back.c */
	if (!atomic_load(&d->dirty))
		atomic_store_explicit(&d->dirty, true, memory_order_relaxed);
	if (!atomic_load_explicit(&d->has_launched, memory_order_relaxed))
		atomic_store_explicit(&d->has_launched, true, memory_order_relaxed);
	if (atomic_load_explicit(&d->drain_sleeps, memory_order_relaxed))
		gpubpf_drain_wake(d);
}

void gpubpf_count_links(const uint32_t *links, uint32_t n)
{
	struct gpubpf_kernel_table *table = gpubpf_session_kernel_table();

	for (uint32_t i = 0; i < n; i++)
		gpubpf_kernel_table_add(&table->link[links[i]].launches, 1);
}

void gpubpf_count_timed(struct gpubpf_dispatch_entry *dispatch)
{
	struct gpubpf_launch_times *times = gpubpf_entry_times(dispatch->entry);
	const struct gpubpf_link_set *links = &dispatch->timed_links;

	for (uint32_t i = 0; (i = gpubpf_link_set_next(links, i)) < GPUBPF_PLAN_LINKS; i++)
		gpubpf_count_links(&i, 1);
	if (times)
		gpubpf_kernel_table_add(&times->expected, 1);
}

struct gpubpf_launch_times *gpubpf_entry_times(const struct gpubpf_kernel_entry *entry)
{
	struct gpubpf_kernel_table *table = gpubpf_session_kernel_table();

	return table && !entry->has_own_row ? &table->times[entry->shared - table->kernel] : NULL;
}

void gpubpf_count_time(const struct gpubpf_hook_launch *l)
{
	struct gpubpf_kernel_row *k = l->dispatch->entry->shared;
	uint32_t weight = l->number < TIMED_INTERVAL ? 1 : TIMED_INTERVAL;

	if (!gpubpf_launch_is_timed(l))
		return;
	gpubpf_kernel_table_add(&k->hook_ns, l->spent_ns * weight);
	__atomic_fetch_add(&k->hook_samples, weight, __ATOMIC_RELAXED);
}
