/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The application's allocations, as adapters tell of them, in the tables of the arenas of devices whose programs ask
 * (maps/layout.h). Each change is brought there at once, so that no kernel finds what is freed. One lock for all of it.
 */
#include "agent.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "maps/layout.h"

struct known {
	const void *key;                     /* the context that reaches it; NULL: all do */
	struct gpubpf_allocation row;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known known[GPUBPF_ALLOCATION_MOST]; /* in the order of their bases */
static struct gpubpf_allocation told[GPUBPF_ALLOCATION_MOST];
static uint32_t nknown;
static atomic_uint made;
static uint64_t untold;
static struct gpubpf_hook_device *tables; /* devices that have one */

static uint64_t at(const struct gpubpf_hook_device *d, uint64_t offset)
{
	return atomic_load_explicit(&d->allocations, memory_order_relaxed) + offset;
}

static int put(struct gpubpf_hook_device *d, uint64_t offset, const void *from, size_t size)
{
	if (!d->shared)
		return size ? d->ops->device->arena_push(d->device, offset, from, size) : 0;
	memcpy((char *)d->host + offset, from, size);
	return 0;
}

/* Those that the device reaches, as rows. */
static uint64_t choose(const struct gpubpf_hook_device *d)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < nknown; i++)
		if (!known[i].key || known[i].key == d->how.context)
			told[n++] = known[i].row;
	return n;
}

/* Last of all, when the rows are there. Several devices on host memory have one table. */
static int say_version(struct gpubpf_hook_device *d, uint64_t version)
{
	uint64_t offset = at(d, GPUBPF_ALLOCATION_VERSION);

	d->allocations_version = version;
	if (!d->shared)
		return put(d, offset, &d->allocations_version, sizeof(version)) ? -EIO :
		       gpubpf_arena_wait(d->ops->device, d->device);
	__atomic_store_n((uint64_t *)((char *)d->host + offset), version, __ATOMIC_RELEASE);
	return 0;
}

/* Into the set of rows that nobody reads. */
static int tell(struct gpubpf_hook_device *d)
{
	const uint64_t *has = (uint64_t *)((char *)d->host + at(d, GPUBPF_ALLOCATION_VERSION));
	uint64_t version = (d->shared ? *has : d->allocations_version) + 1, set = version & 1, n = choose(d);
	int err = put(d, at(d, GPUBPF_ALLOCATION_ROWS + set * GPUBPF_ALLOCATION_SET), told, n * sizeof(*told));

	if (!err)
		err = put(d, at(d, GPUBPF_ALLOCATION_COUNTS + 8 * set), &n, sizeof(n));
	if (!err)
		err = put(d, at(d, offsetof(struct gpubpf_allocation_head, untold)), &untold, sizeof(untold));
	return err ? err : say_version(d, version);
}

static void tell_all(void)
{
	for (struct gpubpf_hook_device **d = &tables; *d && !gpubpf_session_sealed();) {
		if (tell(*d) < 0)
			*d = (*d)->next_table; /* its context is broken */
		else
			d = &(*d)->next_table;
	}
}

/* The first that does not begin before `base`. */
static uint32_t place(uint64_t base)
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

static void insert(uint32_t i, const void *key, const struct gpubpf_allocation *row)
{
	if (i == nknown || known[i].row.base != row->base) {
		memmove(&known[i + 1], &known[i], (nknown - i) * sizeof(*known));
		nknown++;
	}
	known[i] = (struct known){ key, *row };
}

uint32_t gpubpf_allocation_number(void)
{
	return atomic_fetch_add(&made, 1);
}

void gpubpf_allocation_add(const void *key, const struct gpubpf_allocation *row)
{
	bool full;
	uint32_t i;

	if (!row->base || !row->size)
		return;
	pthread_mutex_lock(&lock);
	i = place(row->base);
	full = nknown == GPUBPF_ALLOCATION_MOST && (i == nknown || known[i].row.base != row->base);
	untold += full;
	if (!full)
		insert(i, key, row);
	tell_all();
	full &= tables != NULL;
	pthread_mutex_unlock(&lock);
	if (full)
		gpubpf_hook_note("the program has more than %d allocations at a time; probes are not told of the newest ones",
				 GPUBPF_ALLOCATION_MOST);
}

void gpubpf_allocation_remove(uint64_t base, uint64_t size)
{
	uint32_t i, end;

	pthread_mutex_lock(&lock);
	i = place(base);
	end = place(base + (size ? size : 1));
	if (end > i) {
		memmove(&known[i], &known[end], (nknown - end) * sizeof(*known));
		nknown -= end - i;
		tell_all();
	}
	pthread_mutex_unlock(&lock);
}

void gpubpf_allocations_end(const void *key)
{
	uint32_t n = 0;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < nknown; i++)
		if (known[i].key != key)
			known[n++] = known[i];
	nknown = n;
	pthread_mutex_unlock(&lock);
}

/* A table of the arena for this process: its own, nobody's, or that of one which is no more. */
static uint64_t claim(struct gpubpf_hook_device *d, const struct gpubpf_arena_hdr *hdr)
{
	uint64_t n = __atomic_load_n(&hdr->allocation_tables, __ATOMIC_ACQUIRE), offset = hdr->allocations;

	if (n > GPUBPF_ALLOCATION_TABLES || offset % 8 || offset > d->size ||
	    n * GPUBPF_ALLOCATION_TABLE > d->size - offset)
		return 0;
	for (; n; n--, offset += GPUBPF_ALLOCATION_TABLE) {
		struct gpubpf_allocation_head *head = (void *)((char *)d->host + offset);
		uint64_t owner = __atomic_load_n(&head->owner, __ATOMIC_ACQUIRE), self = getpid();

		if (owner && owner != self && (!kill(owner, 0) || errno != ESRCH))
			continue;
		if (owner == self || __atomic_compare_exchange_n(&head->owner, &owner, self, false, __ATOMIC_ACQ_REL,
								 __ATOMIC_ACQUIRE))
			return offset;
	}
	if (hdr->allocation_tables)
		gpubpf_hook_note("no table is left for the allocations of process %d: %d processes have one each; its probes find "
				 "none", getpid(), GPUBPF_ALLOCATION_TABLES);
	return 0;
}

/* Of a device with memory of its own: where the tables are, and whose this one is. */
static int introduce(struct gpubpf_hook_device *d, const struct gpubpf_arena_hdr *hdr)
{
	uint64_t self = getpid();
	int err = d->shared ? 0 : put(d, at(d, 0), &self, sizeof(self));

	return d->shared || err ? err : put(d, GPUBPF_ARENA_ALLOCATIONS, &hdr->allocations, 2 * sizeof(uint64_t));
}

void gpubpf_allocations_attach(struct gpubpf_hook_device *d)
{
	const struct gpubpf_arena_hdr *hdr = d->host;
	uint64_t offset;

	if (d->allocations || !(d->ops->device->caps(d->device)->bits & GPUBPF_CAP_ALLOCATIONS))
		return;
	offset = claim(d, hdr);
	if (!offset)
		return;
	pthread_mutex_lock(&lock);
	atomic_store(&d->allocations, offset);
	if (!introduce(d, hdr) && !tell(d)) {
		d->next_table = tables;
		tables = d;
	}
	pthread_mutex_unlock(&lock);
}

void gpubpf_allocations_detach(struct gpubpf_hook_device *device)
{
	struct gpubpf_hook_device **d = &tables;

	pthread_mutex_lock(&lock);
	while (*d && *d != device)
		d = &(*d)->next_table;
	if (*d)
		*d = device->next_table;
	pthread_mutex_unlock(&lock);
}

void gpubpf_allocations_leave(void)
{
	pthread_mutex_lock(&lock);
	tables = NULL;
	pthread_mutex_unlock(&lock);
}

void gpubpf_allocations_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	tables = NULL;
	nknown = 0;
}

bool gpubpf_allocations_asked(const struct gpubpf_hook_device *device)
{
	return atomic_load_explicit(&device->allocations, memory_order_relaxed);
}

int gpubpf_buffer_address(struct gpubpf_hook_device *d, void *buffer, uint64_t *address)
{
	const struct gpubpf_device_ops *ops = d->ops->device;

	return ops->buffer_address ? ops->buffer_address(d->device, buffer, address) : -EOPNOTSUPP;
}
