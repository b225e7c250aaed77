/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drain thread of a device with its own memory, which copies records of ring buffers and rows of launches to the mirror. While records
 * arrive, the thread polls often; otherwise it polls seldom until the next launch. It uses none of the application's
 * streams. Words in each record show whether the record is complete (maps/host/mirror.h), so the thread waits for no
 * GPU kernel.
 */
#include "devices.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "core/wire/checks.h"

#define BUSY_NS 1000000ull    /* between two polls */
#define FLOOD_NS 20000ull     /* pause between two polls, if the first of them copied FLOOD_BYTES or more */
#define FLOOD_BYTES (16 << 20) /* 16 MiB */
#define IDLE_NS 20000000ull
#define SLEEP_NS 250000000ull /* longest pause; a GPU kernel may run forever and seldom write a record */
#define MAX_FAST_EMPTY_POLLS 200 /* after this many polls in a row without a record, polling slows down */
#define MAX_EMPTY_POLLS (MAX_FAST_EMPTY_POLLS + 50) /* after this many polls of empty rings, pauses take SLEEP_NS */
#define ZEROS_SIZE 65536

static int pull(void *arg, uint64_t offset, void *to, uint64_t size)
{
	struct gpubpf_hook_device *d = arg;

	return d->ops->device->arena_pull(d->device, offset, to, size);
}

static int push(void *arg, uint64_t offset, const void *from, uint64_t size)
{
	struct gpubpf_hook_device *d = arg;

	return d->ops->device->arena_push(d->device, offset, from, size);
}

static int zero(void *arg, uint64_t offset, uint64_t size)
{
	static const char zeros[ZEROS_SIZE];
	struct gpubpf_hook_device *d = arg;
	int err = 0;

	if (d->ops->device->arena_zero)
		return d->ops->device->arena_zero(d->device, offset, size);
	for (uint64_t n; size && !err; offset += n, size -= n) {
		n = size < ZEROS_SIZE ? size : ZEROS_SIZE;
		err = push(d, offset, zeros, n);
	}
	return err;
}

static int wait(void *arg, bool all)
{
	struct gpubpf_hook_device *d = arg;
	const struct gpubpf_device_ops *ops = d->ops->device;

	return ops->arena_wait ? ops->arena_wait(d->device, all) : 0;
}

/*
 * Returns true if no kernel runs on the device. A device with the operation `settle` waits up to settle_ms for kernels.
 * The drain thread sets settle_ms to -1, and then the result is false. Without `settle` the launch path's count of
 * running twins decides.
 */
static bool is_idle(void *arg, uint64_t bytes)
{
	struct gpubpf_hook_device *d = arg;
	const struct gpubpf_device_ops *ops = d->ops->device;

	if (ops->settle)
		return d->settle_ms >= 0 && !ops->settle(d->device, d->settle_ms);
	return !atomic_load(&d->running);
}

struct helpers {
	void (*work)(void *on);
	void *on;
};

static void *run_helper(void *arg)
{
	const struct helpers *h = arg;

	h->work(h->on);
	return NULL;
}

static void run(void *arg, uint64_t parts, void (*work)(void *on), void *on)
{
	const struct gpubpf_hook_device *d = arg;
	struct helpers h = { work, on };
	pthread_t threads[GPUBPF_MIRROR_MAX_THREADS - 1];
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	int most = gpubpf_mirror_threads(parts, processors > 0 ? processors : 1, d->drain_threads), n = 0;
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (n + 1 < most && !pthread_create(&threads[n], NULL, run_helper, &h))
		n++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	work(on);
	while (n)
		pthread_join(threads[--n], NULL);
}

struct gpubpf_mirror gpubpf_device_mirror(struct gpubpf_hook_device *d, int64_t settle_ms)
{
	d->settle_ms = settle_ms;
	return (struct gpubpf_mirror){
		.arena = d->host,
		.size = d->filled,
		.arg = d,
		.pull = pull,
		.push = push,
		.zero = zero,
		.wait = wait,
		.have_kernels_ended = is_idle,
		.run = d->ops->device->arena_wait ? run : NULL,
		.at_once = d->drain_bytes,
	};
}

static void note_drained(uint64_t bytes, uint64_t ns)
{
	struct gpubpf_kernel_table *table = gpubpf_session_kernel_table();

	if (!table)
		return;
	gpubpf_kernel_table_add(&table->drained_bytes, bytes);
	gpubpf_kernel_table_add(&table->drain_ns, ns);
}

struct pace {
	uint64_t wait_ns;
	/* number of consecutive polls that copied no record; number of consecutive polls that found all rings empty */
	uint32_t no_record_polls, empty_polls;
};

/* Drain the ring buffers once and set the time until the next poll. Returns false if the device failed. */
static bool poll_once(struct gpubpf_hook_device *d, struct pace *p)
{
	struct gpubpf_mirror m = gpubpf_device_mirror(d, -1);
	uint64_t left = 0;
	uint64_t from = gpubpf_now_ns();
	int64_t n;

	if (atomic_exchange(&d->has_launched, false))
		*p = (struct pace){ BUSY_NS };
	n = gpubpf_mirror_drain(&m, &left);
	if (n > 0)
		note_drained(n, gpubpf_now_ns() - from);
	p->empty_polls = n || left ? 0 : p->empty_polls + 1;
	p->no_record_polls = n > 0 ? 0 : p->no_record_polls + 1;
	p->wait_ns = n >= FLOOD_BYTES                          ? FLOOD_NS :
		     p->no_record_polls < MAX_FAST_EMPTY_POLLS ? BUSY_NS :
		     2 * p->wait_ns < IDLE_NS                  ? 2 * p->wait_ns :
								 IDLE_NS;
	if (p->empty_polls >= MAX_EMPTY_POLLS)
		p->wait_ns = SLEEP_NS;
	atomic_store(&d->drain_sleeps, p->empty_polls >= MAX_EMPTY_POLLS);
	return n >= 0;
}

static void *drain(void *arg)
{
	struct gpubpf_hook_device *d = arg;
	struct pace pace = { IDLE_NS, MAX_FAST_EMPTY_POLLS, MAX_EMPTY_POLLS };

	pthread_mutex_lock(&d->lock);
	while (!d->stop) {
		if (!poll_once(d, &pace)) {
			gpubpf_device_report_final_copy(d, false);
			break;
		}
		gpubpf_cond_wait_until(&d->drained, &d->lock, gpubpf_now_ns() + pace.wait_ns);
	}
	d->draining = false;
	pthread_cond_broadcast(&d->drained);
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

void gpubpf_drain_start(struct gpubpf_hook_device *d)
{
	struct gpubpf_mirror m = gpubpf_device_mirror(d, -1);

	gpubpf_assert_held(&d->lock);
	if (d->draining || d->stop || !(d->ops->device->caps(d->device)->bits & GPUBPF_CAP_DRAINS) ||
	    !gpubpf_mirror_is_drained(&m))
		return;
	d->draining = true;
	if (gpubpf_thread_start(drain, d) < 0)
		/*
		 * without the thread, the copy at exit and copies that the tool requests still drain the ring buffers
		 */
		d->draining = false;
}

void gpubpf_drain_wake(struct gpubpf_hook_device *d)
{
	atomic_store(&d->drain_sleeps, false);
	pthread_cond_broadcast(&d->drained);
}

void gpubpf_drain_stop(struct gpubpf_hook_device *d)
{
	gpubpf_assert_held(&d->lock);
	atomic_store(&d->stop, true);
	pthread_cond_broadcast(&d->drained);
	while (d->draining || d->is_prefaulting)
		gpubpf_cond_wait_until(&d->drained, &d->lock, gpubpf_now_ns() + IDLE_NS);
}
