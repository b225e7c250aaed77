/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The application's memory allocations, as adapters report them. If BPF programs look up allocations, the arena of
 * their device contains a table of allocations (maps/layout.h). Each change is copied to the devices at once, so that
 * GPU kernels do not find freed memory in the table. One lock protects all variables of this file.
 */
#include "device.h"
#include "hooks/process/process.h"
#include "hooks/unwind/stacks.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/wire/checks.h"
#include "maps/layout.h"

struct known {
	const void *context; /* owner: a context or a device record; when it is destroyed, the allocation is removed */
	bool everywhere;     /* all devices of the process can access the allocation, not only the owner's */
	struct gpubpf_allocation row;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known known[GPUBPF_ALLOCATION_MAX_ROWS]; /* sorted by base address */
/* Sources of copies to devices. They are static because a copy may still be in progress after the call returns. */
static struct gpubpf_allocation row_buffer[GPUBPF_ALLOCATION_MAX_ROWS], numbered_buffer[GPUBPF_ALLOCATION_MAX_ROWS];
/* contents of the granule table (maps/layout.h) for the next copy to a device */
static uint64_t granules[GPUBPF_GRANULES];
static uint32_t nknown;
static atomic_uint allocation_count;
static uint64_t nmissing;
static struct gpubpf_hook_device *devices_with_table; /* list of devices that have an allocation table */

static uint64_t table_offset(const struct gpubpf_hook_device *d, uint64_t offset)
{
	return atomic_load_explicit(&d->allocations, memory_order_relaxed) + offset;
}

static int copy_to_device(struct gpubpf_hook_device *d, uint64_t offset, const void *from, size_t size)
{
	if (!d->shared)
		return size ? d->ops->device->arena_push(d->device, offset, from, size) : 0;
	memcpy((char *)d->host + offset, from, size);
	return 0;
}

/*
 * Returns true if the device can access the allocation. Devices that use host memory can access each other's
 * allocations and share one table.
 */
static bool can_access(const struct gpubpf_hook_device *d, const struct known *k)
{
	if (k->everywhere || k->context == d->how.context || k->context == d)
		return true;
	for (const struct gpubpf_hook_device *other = devices_with_table; d->shared && other; other = other->next_table)
		if (other->shared && (other->how.context == k->context || other == k->context))
			return true;
	return false;
}

/* Returns the table row of an allocation. In a table row, the size word also contains the table's version. */
static struct gpubpf_allocation row_of(const struct known *k, uint64_t version)
{
	struct gpubpf_allocation row = k->row;

	if (row.size > GPUBPF_ALLOCATION_SIZE_MASK)
		row.size = GPUBPF_ALLOCATION_SIZE_MASK;
	row.size |= version << GPUBPF_ALLOCATION_SIZE_BITS;
	row.unused = (uint32_t)version;
	return row;
}

static uint64_t collect_rows(const struct gpubpf_hook_device *d, uint64_t version)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < nknown; i++)
		if (can_access(d, &known[i]))
			row_buffer[n++] = row_of(&known[i], version);
	return n;
}

/* Store the new version in the table. The version selects one of two sets of rows, so this makes the new rows valid. */
static int publish_version(struct gpubpf_hook_device *d, uint64_t version)
{
	uint64_t offset = table_offset(d, GPUBPF_ALLOCATION_VERSION);

	d->allocations_version = version;
	if (!d->shared)
		return copy_to_device(d, offset, &d->allocations_version, sizeof(version)) ?
			       -EIO :
			       gpubpf_arena_wait(d->ops->device, d->device);
	__atomic_store_n((uint64_t *)((char *)d->host + offset), version, __ATOMIC_RELEASE);
	return 0;
}

/* Enter the allocation's number in the granule table, for all granules that lie completely in the allocation. */
static void enter_granules(const struct gpubpf_allocation *row)
{
	uint64_t size = row->size < UINT64_MAX - row->base ? row->size : UINT64_MAX - row->base;
	uint64_t n = GPUBPF_GRANULE(row->base) + (row->base % (1u << GPUBPF_GRANULE_SHIFT) != 0),
		 end = GPUBPF_GRANULE(row->base + size);

	for (n = end > n + GPUBPF_GRANULES ? end - GPUBPF_GRANULES : n; n < end; n++)
		granules[n % GPUBPF_GRANULES] = GPUBPF_GRANULE_OWNER(n) << 32 | row->number;
}

/* Compute the granule table and copy its changed range to the device. */
static int update_granules(struct gpubpf_hook_device *d)
{
	uint32_t first = 0, end = GPUBPF_GRANULES;

	gpubpf_assert_held(&lock);
	if (!d->granules)
		return 0;
	memset(granules, 0, sizeof(granules));
	for (uint32_t i = 0; i < nknown; i++)
		if (can_access(d, &known[i]))
			enter_granules(&known[i].row);
	while (first < end && granules[first] == d->granules[first])
		first++;
	while (end > first && granules[end - 1] == d->granules[end - 1])
		end--;
	memcpy(d->granules + first, granules + first, (end - first) * sizeof(*granules));
	return copy_to_device(d, d->granules_at + 8 * first, granules + first, (end - first) * sizeof(*granules));
}

/*
 * Copy the layout of the map in row `row` to *l. If the map is not indexed by allocation number, or is not in the
 * filled part of the arena, l->max_entries is 0. Returns false if there is no such row.
 */
static bool find_numbered_map(const struct gpubpf_hook_device *d, uint32_t row, struct gpubpf_map_layout *l)
{
	const struct gpubpf_arena_hdr *hdr = d->host;
	uint64_t size = d->shared ? d->size : __atomic_load_n(&hdr->filled, __ATOMIC_ACQUIRE);

	size = size < d->size ? size : d->size;
	if (row >= GPUBPF_ARENA_ROWS - 1 || row >= __atomic_load_n(&hdr->nmaps, __ATOMIC_ACQUIRE))
		return false;
	memcpy(l, (char *)d->host + GPUBPF_ARENA_MAPS + row * sizeof(*l), sizeof(*l));
	if (!(l->flags & GPUBPF_LAYOUT_ALLOCATIONS) || l->flags & GPUBPF_LAYOUT_PLACED ||
	    l->value_size != sizeof(struct gpubpf_allocation) || l->stride != l->value_size || l->data % 8 ||
	    l->data < GPUBPF_ARENA_DATA || l->data > size || l->max_entries > (size - l->data) / l->stride)
		l->max_entries = 0;
	return true;
}

/*
 * Add missing allocations to the maps that are indexed by allocation number. Returns the number of missing entries, or
 * a negative errno value. count: only count them. If an allocation is cut or freed later, its entries stay unchanged.
 */
static int update_numbered_maps(struct gpubpf_hook_device *d, bool count)
{
	struct gpubpf_map_layout l;
	int err = 0, n = 0;

	gpubpf_assert_held(&lock);
	for (uint32_t row = 0; !err && find_numbered_map(d, row, &l); row++)
		for (uint32_t i = 0; !err && l.max_entries && i < nknown; i++) {
			uint64_t offset = l.data + known[i].row.number * l.stride;
			struct gpubpf_allocation *at = (void *)((char *)d->host + offset);
			uint64_t none = 0;

			if (known[i].row.number >= l.max_entries || at->size || !can_access(d, &known[i]))
				continue;
			n++;
			if (count || !__atomic_compare_exchange_n(&at->size, &none, known[i].row.size, false,
								  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
				continue; /* only counting, or another process has already stored the entry */
			*at = numbered_buffer[i] = known[i].row;
			err = d->shared ? 0 : copy_to_device(d, offset, &numbered_buffer[i], sizeof(*at));
		}
	return err ? err : n;
}

/*
 * The table has two sets of rows, and its version selects one of them. Write the rows to the other set, which no GPU
 * kernel reads, and then publish the new version.
 */
static int update_table(struct gpubpf_hook_device *d)
{
	const uint64_t *has = (uint64_t *)((char *)d->host + table_offset(d, GPUBPF_ALLOCATION_VERSION));
	uint64_t version = (d->shared ? *has : d->allocations_version) + 1, set = version & 1,
		 n = collect_rows(d, version);
	int err = copy_to_device(d, table_offset(d, GPUBPF_ALLOCATION_ROWS + set * GPUBPF_ALLOCATION_SET), row_buffer,
				 n * sizeof(*row_buffer));

	gpubpf_assert_held(&lock);
	if (!err && update_numbered_maps(d, false) < 0)
		err = -EIO;
	if (!err)
		err = update_granules(d);
	if (!err)
		err = copy_to_device(d, table_offset(d, GPUBPF_ALLOCATION_COUNTS + 8 * set), &n, sizeof(n));
	if (!err)
		err = copy_to_device(d, table_offset(d, offsetof(struct gpubpf_allocation_head, nmissing)), &nmissing,
				     sizeof(nmissing));
	return err ? err : publish_version(d, version);
}

/* Returns true if an earlier device in the list uses the same table. */
static bool shares_earlier_table(const struct gpubpf_hook_device *d)
{
	for (const struct gpubpf_hook_device *other = devices_with_table; d->shared && other != d; other = other->next_table)
		if (other->shared && table_offset(other, 0) == table_offset(d, 0))
			return true;
	return false;
}

/* Returns true if a GPU kernel runs on the device, so that an update of the table would have to wait. */
static bool is_busy(const struct gpubpf_hook_device *d)
{
	const struct gpubpf_device_ops *ops = d->ops->device;

	return !d->shared && ops->quiet && !ops->quiet(d->device);
}

/*
 * Update the tables of all devices. may_wait: wait for running GPU kernels, as the runtime does when it frees memory.
 * Otherwise a device with a running GPU kernel is skipped until the next change. Returns false if a device was skipped.
 */
static bool update_all(bool may_wait)
{
	bool all = true;

	for (struct gpubpf_hook_device **d = &devices_with_table; *d && !gpubpf_session_sealed();) {
		if (!may_wait && is_busy(*d)) {
			all = false;
			d = &(*d)->next_table;
		} else if (!shares_earlier_table(*d) && update_table(*d) < 0) {
			/* The copy failed, so the device's context is broken: remove the device from the list. */
			*d = (*d)->next_table;
		} else {
			d = &(*d)->next_table;
		}
	}
	return all;
}

/* Returns the index in known[] of the first allocation whose base address is at least `base`. */
static uint32_t index_of(uint64_t base)
{
	uint32_t from = 0, to = nknown;

	while (from < to) {
		uint32_t half = from + (to - from) / 2;

		if (known[half].row.base < base)
			from = half + 1;
		else
			to = half;
	}
	return from;
}

static bool is_same(uint32_t i, const struct known *k)
{
	return i < nknown && known[i].row.base == k->row.base && known[i].context == k->context;
}

/*
 * Add the allocation to known[], or replace the allocation with the same base and context. Returns false if known[] is
 * full.
 */
static bool insert(const struct known *k)
{
	uint32_t i = index_of(k->row.base);

	gpubpf_assert_held(&lock);
	while (i < nknown && known[i].row.base == k->row.base && known[i].context != k->context)
		i++;
	if (!is_same(i, k)) {
		if (nknown == GPUBPF_ALLOCATION_MAX_ROWS)
			return false;
		memmove(&known[i + 1], &known[i], (nknown - i) * sizeof(*known));
		nknown++;
	}
	known[i] = *k;
	return true;
}

static void remove_rows(uint32_t i, uint32_t end)
{
	gpubpf_assert_held(&lock);
	memmove(&known[i], &known[end], (nknown - end) * sizeof(*known));
	nknown -= end - i;
}

uint32_t gpubpf_allocation_number(void)
{
	return atomic_fetch_add(&allocation_count, 1);
}

uint32_t gpubpf_allocation_stack(void)
{
	return gpubpf_session_flags() & GPUBPF_WELCOME_ALLOCATION_STACKS ?
		       gpubpf_stack_current_number(0, GPUBPF_STACK_DEPTH) :
		       0;
}

static void report_delayed(void)
{
	gpubpf_log_once("memory was allocated while a kernel ran, when the allocation table of this device cannot be "
			"updated; probes do not find this memory until the application allocates while no kernel runs, "
			"or frees memory");
}

void gpubpf_allocation_add(const void *context, bool everywhere, const struct gpubpf_allocation *row)
{
	struct known k = { context, everywhere, *row };
	bool full, delayed;

	if (!row->base || !row->size)
		return;
	pthread_mutex_lock(&lock);
	full = !insert(&k);
	nmissing += full;
	delayed = !update_all(false);
	full &= devices_with_table != NULL;
	pthread_mutex_unlock(&lock);
	if (delayed)
		report_delayed();
	if (full)
		gpubpf_log_once("the application has more than %d allocations at a time; probes do not find the newest",
				GPUBPF_ALLOCATION_MAX_ROWS);
}

void gpubpf_allocation_remove(uint64_t base)
{
	uint32_t i, end;

	pthread_mutex_lock(&lock);
	i = index_of(base);
	end = index_of(base + 1);
	if (end > i) {
		remove_rows(i, end);
		update_all(true);
	}
	pthread_mutex_unlock(&lock);
}

/* Remove the range [base, end) from row i. The parts of the allocation before and after the range become rows. */
static void cut_row(uint32_t i, uint64_t base, uint64_t end)
{
	struct known before = known[i], behind = known[i];
	uint64_t last = before.row.base + before.row.size;

	gpubpf_assert_held(&lock);
	remove_rows(i, i + 1);
	before.row.size = base - before.row.base;
	behind.row.size = last - end;
	behind.row.base = end;
	if (last > end)
		nmissing += !insert(&behind);
	if (before.row.base < base)
		insert(&before);
}

void gpubpf_allocation_cut(uint64_t base, uint64_t size)
{
	uint64_t end = base + size < base ? UINT64_MAX : base + size;
	bool any = false;

	pthread_mutex_lock(&lock);
	for (uint32_t i = index_of(end); i-- > 0;) /* rows inserted by cut_row() lie outside [base, end) */
		if (known[i].row.base + known[i].row.size > base && known[i].row.base < end) {
			cut_row(i, base, end);
			any = true;
		}
	if (any)
		update_all(true);
	pthread_mutex_unlock(&lock);
}

void gpubpf_allocations_end(const void *context)
{
	uint32_t n = 0;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < nknown; i++)
		if (known[i].context != context)
			known[n++] = known[i];
	if (n != nknown) {
		nknown = n;
		update_all(true);
	}
	pthread_mutex_unlock(&lock);
}

static uint64_t *owner_at(const struct gpubpf_hook_device *d, uint64_t tables_at, uint64_t i)
{
	return (uint64_t *)((char *)d->host + tables_at + i * GPUBPF_ALLOCATION_TABLE);
}

/*
 * Claim an allocation table of the arena: the table that this process already has, a free table, or a table of a
 * process that has ended. Returns the table's arena offset; 0: no table is left. Device code uses the first table of
 * its process. The lock ensures that all devices of the process on host memory share one table.
 */
static uint64_t claim(struct gpubpf_hook_device *d, const struct gpubpf_arena_hdr *hdr)
{
	uint64_t n = __atomic_load_n(&hdr->allocation_tables, __ATOMIC_ACQUIRE), offset = hdr->allocations;

	gpubpf_assert_held(&lock);
	if (n > GPUBPF_ALLOCATION_TABLES || offset % 8 || offset > d->size || n * GPUBPF_ALLOCATION_TABLE > d->size - offset)
		return 0;
	for (uint64_t i = 0; i < n; i++)
		if (__atomic_load_n(owner_at(d, offset, i), __ATOMIC_ACQUIRE) == (uint64_t)getpid())
			return offset + i * GPUBPF_ALLOCATION_TABLE;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t *at = owner_at(d, offset, i), owner = __atomic_load_n(at, __ATOMIC_ACQUIRE);

		if ((!owner || (kill(owner, 0) && errno == ESRCH)) &&
		    __atomic_compare_exchange_n(at, &owner, getpid(), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return offset + i * GPUBPF_ALLOCATION_TABLE;
	}
	return 0;
}

/*
 * For a device with its own memory: copy to the device the offset of the tables, and the process id that marks this
 * table as owned.
 */
static int publish_table(struct gpubpf_hook_device *d, const struct gpubpf_arena_hdr *hdr)
{
	uint64_t self = getpid(), granules_at = hdr->granules;
	int err;

	if (d->shared)
		return 0;
	if (granules_at % 8 || granules_at < GPUBPF_ARENA_DATA || granules_at > d->size ||
	    GPUBPF_GRANULE_TABLE > d->size - granules_at)
		return -EINVAL;
	d->granules_at = granules_at;
	/* all zeros, like the granule table on the device */
	d->granules = calloc(GPUBPF_GRANULES, sizeof(*d->granules));
	err = copy_to_device(d, table_offset(d, 0), &self, sizeof(self));
	if (!err)
		err = copy_to_device(d, GPUBPF_ARENA_ALLOCATIONS, &hdr->allocations, 2 * sizeof(uint64_t));
	return err ? err : copy_to_device(d, GPUBPF_ARENA_GRANULES, &d->granules_at, sizeof(d->granules_at));
}

/* Update a device that already has a table, because maps indexed by allocation number may have been added. */
static void update_maps(struct gpubpf_hook_device *d)
{
	const struct gpubpf_hook_device *at;
	bool delayed = false;

	pthread_mutex_lock(&lock);
	at = devices_with_table;
	while (at && at != d)
		at = at->next_table;
	if (at && !gpubpf_session_sealed() && !gpubpf_hook_device_gone(d)) {
		delayed = is_busy(d) && update_numbered_maps(d, true) > 0;
		if (!delayed && update_numbered_maps(d, false) > 0 && !d->shared)
			gpubpf_arena_wait(d->ops->device, d->device);
	}
	pthread_mutex_unlock(&lock);
	if (delayed)
		report_delayed();
}

void gpubpf_allocations_attach(struct gpubpf_hook_device *d)
{
	const struct gpubpf_arena_hdr *hdr = d->host;
	uint64_t offset;
	bool lacks_granules;

	gpubpf_assert_held(&d->lock);
	if (d->allocations) {
		update_maps(d);
		return;
	}
	if (!(d->ops->device->caps(d->device)->bits & GPUBPF_CAP_ALLOCATIONS))
		return;
	pthread_mutex_lock(&lock);
	offset = gpubpf_hook_device_gone(d) ? 0 : claim(d, hdr);
	atomic_store(&d->allocations, offset);
	if (offset) {
		d->next_table = devices_with_table;
		devices_with_table = d;
		if (publish_table(d, hdr) || update_table(d))
			devices_with_table = d->next_table;
	}
	lacks_granules = d->granules_at && !d->granules;
	pthread_mutex_unlock(&lock);
	if (lacks_granules)
		gpubpf_log_once("out of memory for the table that finds an allocation by its address; probes work, but "
				"each look-up searches all allocations, which takes longer");
	if (!offset && hdr->allocation_tables)
		gpubpf_log_once("no allocation table is left for process %d: the session has %d, one per process; "
				"probes in this process find no allocations",
				getpid(), GPUBPF_ALLOCATION_TABLES);
}

void gpubpf_allocations_detach(struct gpubpf_hook_device *device)
{
	struct gpubpf_hook_device **d = &devices_with_table;

	pthread_mutex_lock(&lock);
	while (*d && *d != device)
		d = &(*d)->next_table;
	if (*d)
		*d = device->next_table;
	free(device->granules);
	device->granules = NULL;
	pthread_mutex_unlock(&lock);
}

void gpubpf_allocations_leave(void)
{
	pthread_mutex_lock(&lock);
	devices_with_table = NULL;
	pthread_mutex_unlock(&lock);
}

void gpubpf_allocations_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	devices_with_table = NULL;
	nknown = 0;
}

bool gpubpf_allocations_in_use(const struct gpubpf_hook_device *device)
{
	return atomic_load_explicit(&device->allocations, memory_order_relaxed);
}

int gpubpf_buffer_address(struct gpubpf_hook_device *d, void *buffer, uint64_t *address)
{
	const struct gpubpf_device_ops *ops = d->ops->device;

	return ops->buffer_address ? ops->buffer_address(d->device, buffer, address) : -EOPNOTSUPP;
}
