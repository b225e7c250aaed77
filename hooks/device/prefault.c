/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepares the mirror's memory for ring buffer records before records arrive. The first copy to a page of the mirror
 * allocates and pins the page. Such a copy runs at a tenth of the speed of a copy to a pinned page, so a fast stream of
 * records would lose some. Therefore a thread prepares the pages of the ring buffers as soon as the device has them,
 * while twins are built. The launch of a twin waits for this thread.
 */
#include "devices.h"

#include <unistd.h>

#include "core/wire/checks.h"

#define PART_SIZE (16ull << 20)  /* bytes that a thread prepares at a time (a part) */
/* gpubpf_mirror_threads() starts at most one thread per 2 parts; more than 4 threads were not measured */
#define PARTS_FOR_4_THREADS 8
/*
 * Limit of the prepared bytes; a quarter of free memory if that is less. The first copy to any other page allocates
 * that page.
 */
#define MAX_PREPARED_SIZE (4ull << 30)

struct prepare {
	struct gpubpf_hook_device *d;
	struct gpubpf_mirror m;
	uint64_t byte_limit;
	atomic_uint_fast64_t next; /* index of the next part to prepare; parts are numbered over all ring buffers */
};

static uint64_t byte_limit(void)
{
	uint64_t quarter = (uint64_t)sysconf(_SC_AVPHYS_PAGES) / 4 * sysconf(_SC_PAGESIZE);

	return quarter < MAX_PREPARED_SIZE ? quarter : MAX_PREPARED_SIZE;
}

/* Find the arena offset and size of part `i`; parts are numbered over all ring buffers. */
static bool find_part(const struct prepare *p, uint64_t i, uint64_t *offset, uint64_t *size)
{
	uint32_t row = 0;

	if (i * PART_SIZE >= p->byte_limit)
		return false;
	while (gpubpf_mirror_next_ring(&p->m, &row, offset, size)) {
		uint64_t parts = (*size + PART_SIZE - 1) / PART_SIZE;

		if (i < parts) {
			*offset += i * PART_SIZE;
			*size -= i * PART_SIZE;
			*size = *size < PART_SIZE ? *size : PART_SIZE;
			return true;
		}
		i -= parts;
	}
	return false;
}

static void prepare_parts(void *on)
{
	struct prepare *p = on;
	const struct gpubpf_device_ops *ops = p->d->ops->device;
	uint64_t offset, size;

	while (!atomic_load(&p->d->stop) && find_part(p, atomic_fetch_add(&p->next, 1), &offset, &size))
		ops->mirror_prepare(p->d->device, offset, size);
}

static void *prepare(void *arg)
{
	struct gpubpf_hook_device *d = arg;

	pthread_mutex_lock(&d->lock);
	while (!d->stop && d->prefaulted < d->filled) {
		struct prepare p = { .d = d, .m = gpubpf_device_mirror(d, -1), .byte_limit = byte_limit() };

		pthread_mutex_unlock(&d->lock);
		if (p.m.run)
			p.m.run(d, PARTS_FOR_4_THREADS, prepare_parts, &p);
		else
			prepare_parts(&p);
		pthread_mutex_lock(&d->lock);
		d->prefaulted = p.m.size;
	}
	d->is_prefaulting = false;
	pthread_cond_broadcast(&d->drained);
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

void gpubpf_prepare_start(struct gpubpf_hook_device *d)
{
	struct gpubpf_mirror m = gpubpf_device_mirror(d, -1);
	uint64_t offset, size;
	uint32_t row = 0;

	gpubpf_assert_held(&d->lock);
	if (d->is_prefaulting || d->stop || !d->ops->device->mirror_prepare ||
	    !gpubpf_mirror_next_ring(&m, &row, &offset, &size))
		return;
	d->is_prefaulting = true;
	if (gpubpf_thread_start(prepare, d) < 0)
		d->is_prefaulting = false; /* without the thread, the first copy to a page allocates the page */
}

void gpubpf_prepare_wait(struct gpubpf_hook_device *d)
{
	uint64_t until = gpubpf_wait_budget_begin();

	pthread_mutex_lock(&d->lock);
	while (d->is_prefaulting && !d->stop && gpubpf_now_ns() < until)
		gpubpf_cond_wait_until(&d->drained, &d->lock, until);
	pthread_mutex_unlock(&d->lock);
	gpubpf_wait_budget_end();
}
