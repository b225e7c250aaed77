/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices of the application: one per pair of context and device that it launches on. When the first matched kernel is
 * launched on a device, the agent opens it, announces it to the session and attaches its arena.
 */
#include "hooks/client/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "hooks/process/agent_thread.h"
#include "hooks/client/cache.h"
#include "core/wire/checks.h"
#include "core/wire/fields.h"
#include "maps/layout.h"
#include "maps/host/mirror.h"

#define ARENA_WAIT_NS 2000000000ull /* minimum wait for the arena if --wait is less: the tool answers at once */
#define ARENA_MAX (64ull << 30)
#define PULL_TIME_DIVISOR 20 /* automatic copies take at most 1/20 of the time */
#define LAST_TWINS_NS 500000000ull /* for end-of-twin notifications when the device is destroyed */
#define EXIT_WAIT_NS 2000000000ull
#define LOADING_NS 5000000000ull   /* for twins that are loading when the process exits, */
#define CONTEXT_END_NS 60000000000ull /* when their context ends: the driver must not see loads into a dead one */
#define REQUESTED_PULL_MS 300 /* how long a copy that the tool requested waits for running kernels */
#define MAX_DRAINS 4   /* maximum ring drains per copy: kernels may fill rings as fast as they are drained */
#define LAST_RECORDS_NS 5000000000ull /* for a reader to make room in the mirror */
#define SETTLE_MS 2000 /* how long to wait for kernels when their context or the process ends */
#define EXIT_NS 20000000000ull     /* limit for all work at exit, in case the driver never answers */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the list of devices */
static struct gpubpf_hook_device *devices;
static uint32_t next_number;
static atomic_bool any_copied; /* some arena is outside host memory */
static atomic_bool any_ready;
static bool leaving;           /* the process is exiting: the runtime may be gone */

/* devices by runtime context; these records are never freed */
struct keyed {
	struct keyed *next;
	_Atomic(const void *) key;   /* NULL: destroyed */
	struct gpubpf_hook_device *device;
};
static _Atomic(struct keyed *) keyed;

static void register_ready(bool shared);

int gpubpf_hook_device_create(const struct gpubpf_hook_ops *ops, const struct gpubpf_device_open *how,
			      uint32_t ordinal, struct gpubpf_hook_device **device)
{
	struct gpubpf_hook_device *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	gpubpf_session_rejoin(); /* with its own context, the child of a fork can be probed */
	d->ops = ops;
	d->how = *how;
	d->ordinal = ordinal;
	d->generation = gpubpf_session_generation();
	d->drain_threads = gpubpf_env_drain_threads();
	d->drain_bytes = gpubpf_env_drain_bytes();
	pthread_mutex_init(&d->lock, NULL);
	gpubpf_cond_init(&d->drained);
	pthread_mutex_lock(&lock);
	d->number = next_number++;
	d->next = devices;
	d->link = &devices;
	if (devices)
		devices->link = &d->next;
	devices = d;
	pthread_mutex_unlock(&lock);
	*device = d;
	return 0;
}

/* ending: also find one that is being destroyed. */
static struct keyed *find_keyed(const struct gpubpf_hook_ops *ops, const void *key, bool ending)
{
	struct keyed *k = atomic_load_explicit(&keyed, memory_order_acquire);

	while (k && (atomic_load_explicit(&k->key, memory_order_relaxed) != key || k->device->ops != ops ||
		     (!ending && atomic_load_explicit(&k->device->gone, memory_order_relaxed))))
		k = k->next;
	return k;
}

struct gpubpf_hook_device *gpubpf_hook_device_find(const struct gpubpf_hook_ops *ops, const void *key)
{
	struct keyed *k = find_keyed(ops, key, false);

	return k ? k->device : NULL;
}

struct gpubpf_hook_device *gpubpf_hook_device_add(const struct gpubpf_hook_ops *ops, const void *key,
						  const struct gpubpf_device_open *how, uint32_t ordinal)
{
	static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
	struct gpubpf_hook_device *device;
	struct keyed *k;

	pthread_mutex_lock(&adding);
	device = gpubpf_hook_device_find(ops, key);
	if (!device && (k = calloc(1, sizeof(*k)))) {
		k->key = key;
		if (gpubpf_hook_device_create(ops, how, ordinal, &k->device) < 0) {
			free(k);
		} else {
			device = k->device;
			k->next = keyed;
			atomic_store_explicit(&keyed, k, memory_order_release);
		}
	}
	pthread_mutex_unlock(&adding);
	return device;
}

const struct gpubpf_device_open *gpubpf_hook_device_open_params(const struct gpubpf_hook_device *device)
{
	return &device->how;
}

uint64_t gpubpf_hook_device_clock_offset(const struct gpubpf_hook_device *d)
{
	const struct gpubpf_arena_hdr *hdr = d->host;

	return __atomic_load_n(&hdr->clock_ns, __ATOMIC_RELAXED) - hdr->clock_cycles;
}

uint64_t gpubpf_hook_device_arena(const struct gpubpf_hook_device *device)
{
	return device->arena;
}

static bool is_of_this_process(const struct gpubpf_hook_device *d)
{
	return d->generation == gpubpf_session_generation(); /* the child of a fork leaves its parent's devices alone */
}

static int send_device(struct gpubpf_hook_device *d, struct gpubpf_request **request)
{
	struct gpubpf_device_caps caps = *d->ops->device->caps(d->device);
	struct gpubpf_writer w = {0};
	int err;

	caps.ordinal = d->ordinal;
	gpubpf_put_u32(&w, d->number);
	gpubpf_put_caps(&w, &caps);
	err = gpubpf_client_request(GPUBPF_MSG_DEVICE, &w, NULL, 0, request);
	gpubpf_writer_finish(&w);
	return err;
}

static void unmap_arena(struct gpubpf_hook_device *d, void *host, size_t size)
{
	if (host && !d->shared)
		munmap(host, size);
}

static int map_arena(struct gpubpf_hook_device *d, struct gpubpf_packet *packet,
		     const struct gpubpf_arena_answer *answer, struct gpubpf_reason *why)
{
	int64_t size = gpubpf_memfd_size(packet->fds[0], ARENA_MAX);
	const struct gpubpf_arena_hdr *hdr;

	if (size < (int64_t)sizeof(*hdr) || (uint64_t)size < answer->size || answer->size < sizeof(*hdr)) {
		snprintf(why->text, sizeof(why->text), "the session's memory for maps does not match its description");
		return -EPROTO;
	}
	hdr = d->shared ? gpubpf_shared_arena(packet->fds[0], answer->size) :
		mmap(NULL, answer->size, PROT_READ | PROT_WRITE, MAP_SHARED, packet->fds[0], 0);
	if (hdr == MAP_FAILED) {
		snprintf(why->text, sizeof(why->text), "cannot map the session's %llu bytes for maps: %s",
			 (unsigned long long)answer->size, strerror(errno));
		return -errno;
	}
	if (hdr->magic != GPUBPF_ARENA_MAGIC || hdr->version != GPUBPF_ARENA_VERSION || hdr->own > answer->size ||
	    hdr->own < GPUBPF_ARENA_DATA) {
		unmap_arena(d, (void *)hdr, answer->size);
		snprintf(why->text, sizeof(why->text), "the session's memory for maps has another version; use the "
						       "tool and the agent of one gpubpf version");
		return -EPROTO;
	}
	d->host = (void *)hdr;
	d->size = answer->size;
	d->own = hdr->own;
	d->memory = gpubpf_msg_take_fd(packet, 0);
	return 0;
}

/* Wait for the answer to send_device() as long as the wait budget lasts, but at least ARENA_WAIT_NS. */
static int wait_for_arena(struct gpubpf_request *request)
{
	uint64_t least = gpubpf_now_ns() + ARENA_WAIT_NS, until;
	int err;

	if (gpubpf_wait_budget_is_suspended())
		return gpubpf_request_is_done(request) ? gpubpf_request_wait(request, 0) : -EAGAIN;
	until = gpubpf_wait_budget_begin();
	err = gpubpf_request_wait(request, until > least ? until : least);
	gpubpf_wait_budget_end();
	if (err != -ETIMEDOUT)
		return err;
	gpubpf_wait_budget_suspend();
	return -EAGAIN;
}

static int take_arena(struct gpubpf_hook_device *d, struct gpubpf_reason *why)
{
	struct gpubpf_arena_answer answer;
	struct gpubpf_packet *packet;
	int err = d->asked ? 0 : send_device(d, &d->asked);

	if (!err)
		err = wait_for_arena(d->asked);
	if (err == -EAGAIN)
		return err;
	if (err < 0)
		goto out;
	packet = gpubpf_request_answer(d->asked);
	err = packet->type != GPUBPF_MSG_ARENA ? -EPROTO :
		gpubpf_arena_parse(&packet->payload, d->number, packet->nfds, &answer);
	if (!err && answer.reason[0]) {
		snprintf(why->text, sizeof(why->text), "%s", packet->lost ? strerror(EMFILE) : answer.reason);
		err = -EOPNOTSUPP;
	}
	if (!err)
		err = map_arena(d, packet, &answer, why);
out:
	gpubpf_request_drop(d->asked);
	d->asked = NULL;
	return err;
}

static void send_keep(struct gpubpf_hook_device *d, enum gpubpf_keep what, int fd)
{
	struct gpubpf_writer w = {0};

	gpubpf_put_u32(&w, d->number);
	gpubpf_put_u32(&w, what);
	gpubpf_client_notify_fd(GPUBPF_MSG_KEEP, &w, fd);
	gpubpf_writer_finish(&w);
}

/* Export the device's memory to the tool if it can outlive this process. */
static void export_arena(struct gpubpf_hook_device *d)
{
	const struct gpubpf_device_ops *ops = d->ops->device;
	int fd;

	if (!ops->arena_export || ops->arena_export(d->device, &fd) < 0)
		return;
	send_keep(d, GPUBPF_KEEP, fd);
	close(fd);
	d->kept = true;
}

void gpubpf_device_report_final_copy(struct gpubpf_hook_device *d, bool copied)
{
	gpubpf_assert_held(&d->lock);
	if (d->kept)
		send_keep(d, copied ? GPUBPF_KEEP_DONE : GPUBPF_KEEP_BROKEN, -1);
	d->kept = false;
}

/* The next range for which the memfd has allocated pages; the rest reads as zero. Returns everything where holes are
 * not reported. */
static off_t next_data(const struct gpubpf_hook_device *d, off_t from, off_t *to)
{
	off_t data = lseek(d->memory, from, SEEK_DATA), size = d->size, hole;

	if (data < 0)
		data = errno == ENXIO ? size : from;
	hole = lseek(d->memory, data, SEEK_HOLE);
	*to = hole > data && hole < size ? hole : size;
	return data < size ? data : size;
}

/* Copy the contents of maps up to `end` to the device. Segments added after the first copy are copied whole, holes
 * included. */
static int push_data(struct gpubpf_hook_device *d, off_t end)
{
	const struct gpubpf_device_ops *ops = d->ops->device;
	off_t from = d->filled, to;
	int err;

	if (!ops->arena_zero || d->memory < 0)
		return ops->arena_push(d->device, from, (char *)d->host + from, end - from);
	err = ops->arena_zero(d->device, from, end - from);
	while (!err && (from = next_data(d, from, &to)) < end) {
		err = ops->arena_push(d->device, from, (char *)d->host + from, (to < end ? to : end) - from);
		from = to;
	}
	return err;
}

/* Copy arena segments that the device does not have yet. The caller holds its lock. */
static int fill_arena(struct gpubpf_hook_device *d, struct gpubpf_reason *why)
{
	struct gpubpf_arena_hdr *hdr = d->host;
	uint64_t used = __atomic_load_n(&hdr->used, __ATOMIC_ACQUIRE), given = __atomic_load_n(&hdr->given, __ATOMIC_ACQUIRE);
	int err;

	gpubpf_assert_held(&d->lock);
	if (d->shared || (used <= d->filled && given <= d->rows))
		return 0;
	err = used > d->own ? -EPROTO : used > d->filled ? push_data(d, used) : 0;
	if (!err)
		err = gpubpf_arena_wait(d->ops->device, d->device);
	if (err < 0) {
		snprintf(why->text, sizeof(why->text), "memory for maps: copying to the device failed: %s",
			 strerror(-err));
		return err;
	}
	err = gpubpf_external_maps_fill(d, given, why);
	if (err < 0)
		return err;
	d->filled = used;
	__atomic_store_n(&hdr->filled, used, __ATOMIC_RELEASE);
	gpubpf_prepare_start(d);
	gpubpf_drain_start(d);
	return 0;
}

int gpubpf_device_fill(struct gpubpf_hook_device *d, struct gpubpf_reason *why)
{
	int err = 0;

	pthread_mutex_lock(&d->lock);
	if (d->state == DEVICE_READY && is_of_this_process(d))
		err = fill_arena(d, why);
	if (d->state == DEVICE_READY && is_of_this_process(d) && !err)
		gpubpf_allocations_attach(d);
	pthread_mutex_unlock(&d->lock);
	return err;
}

static int open_device(struct gpubpf_hook_device *d, struct gpubpf_reason *why)
{
	struct gpubpf_device_open how = d->how;
	char cache[PATH_MAX];

	how.variable = gpubpf_env_variable;
	how.cache = gpubpf_env_cache(cache, sizeof(cache)) ? cache : NULL;
	return d->ops->device->open(&how, &d->device, why);
}

static int make_ready(struct gpubpf_hook_device *d, struct gpubpf_reason *why)
{
	const struct gpubpf_device_ops *ops = d->ops->device;
	int err = d->device ? 0 : open_device(d, why);

	gpubpf_assert_held(&d->lock);
	if (err < 0)
		return err;
	d->shared = ops->caps(d->device)->bits & GPUBPF_CAP_SHARED_ARENA;
	err = take_arena(d, why);
	if (err < 0)
		return err;
	err = ops->arena_attach(d->device, d->host, d->own, &d->arena, why);
	if (!err && (err = fill_arena(d, why))) {
		gpubpf_external_maps_free(d);
		ops->arena_detach(d->device);
	}
	close(d->memory);
	d->memory = -1;
	if (!err)
		gpubpf_allocations_attach(d);
	if (!err)
		register_ready(d->shared);
	if (!err && !d->shared)
		export_arena(d);
	return err;
}

int gpubpf_device_make_ready(struct gpubpf_hook_device *d, struct gpubpf_reason *why)
{
	pthread_mutex_lock(&d->lock);
	if (d->state == DEVICE_NEW) {
		int err = make_ready(d, &d->why);

		if (err == -EAGAIN) {
			pthread_mutex_unlock(&d->lock);
			return err;
		}
		if (err < 0 && !d->why.text[0])
			snprintf(d->why.text, sizeof(d->why.text), "the device could not be opened for probes: %s",
				 gpubpf_session_strerror(err));
		d->state = err < 0 ? DEVICE_REFUSED : DEVICE_READY;
	}
	*why = d->why;
	pthread_mutex_unlock(&d->lock);
	return d->state == DEVICE_READY ? 0 : -EOPNOTSUPP;
}

/* Before a copy: writes from here on mark the device dirty again. False: a twin runs, so a copy is pointless. A
 * launch counts itself as running before it reads `dirty`, and this function uses the reverse order, so one of the
 * two sees the other. A device that can wait for kernels copies their writes up to now in any case. */
static bool clear_dirty(struct gpubpf_hook_device *d, uint32_t wait_ms)
{
	const struct gpubpf_device_ops *ops = d->ops->device;
	bool busy;

	atomic_store(&d->dirty, false);
	busy = ops->settle ? ops->settle(d->device, wait_ms) : atomic_load(&d->running);
	if (busy)
		atomic_store(&d->dirty, true);
	return !busy || ops->settle;
}

/* Copy the device's maps back. *left: bytes of records still on the device. */
static int copy_back(struct gpubpf_hook_device *d, uint32_t wait_ms, uint64_t *left)
{
	struct gpubpf_mirror m = gpubpf_device_mirror(d, wait_ms);
	int err = gpubpf_mirror_pull(&m);
	int64_t n = 1;

	gpubpf_assert_held(&d->lock);
	for (int i = 0; !err && n > 0 && i < MAX_DRAINS; i++)
		n = gpubpf_mirror_drain(&m, left);
	return err ? err : n < 0 ? n : 0;
}

/* copy_back() after a bounded wait for kernels. The lock keeps the device open meanwhile. The next automatic copy is
 * due when this one's duration is a small part of the elapsed time. */
static bool pull(struct gpubpf_hook_device *d, uint32_t wait_ms, uint64_t *left)
{
	uint64_t from = gpubpf_now_ns(), to;
	bool may = true, whole;
	int err = 0;

	pthread_mutex_lock(&d->lock);
	if (d->state == DEVICE_READY && !d->shared) {
		gpubpf_kernel_table_begin_copy(d);
		may = clear_dirty(d, wait_ms);
		whole = may && !atomic_load(&d->dirty);
		if (d->ops->device->settle && whole)
			gpubpf_clock_recalibrate(d);
		gpubpf_external_maps_copy(d);
		err = may ? copy_back(d, wait_ms, left) : 0;
		if (whole && !err)
			gpubpf_kernel_table_end_copy(d);
		to = gpubpf_now_ns();
		atomic_store(&d->next_pull_ns, to + PULL_TIME_DIVISOR * (to - from));
		if (err < 0)
			gpubpf_device_report_final_copy(d, false);
	}
	pthread_mutex_unlock(&d->lock);
	return may && !err;
}

static void send_pulled(uint32_t number, uint32_t asked)
{
	struct gpubpf_writer w = {0};

	gpubpf_put_u32(&w, number);
	gpubpf_put_u32(&w, asked);
	gpubpf_client_notify(GPUBPF_MSG_PULLED, &w);
	gpubpf_writer_finish(&w);
}

/* Copy external maps, which the host can read while kernels run. */
static void copy_external(struct gpubpf_hook_device *d)
{
	pthread_mutex_lock(&d->lock);
	if (d->state == DEVICE_READY)
		gpubpf_external_maps_copy(d);
	pthread_mutex_unlock(&d->lock);
}

void gpubpf_device_pull(uint32_t number, uint32_t asked)
{
	uint64_t left;

	pthread_mutex_lock(&lock);
	for (struct gpubpf_hook_device *d = devices; d && !leaving; d = d->next)
		if (d->number == number && is_of_this_process(d) && !atomic_load(&d->running))
			pull(d, REQUESTED_PULL_MS, &left);
		else if (d->number == number && is_of_this_process(d))
			copy_external(d);
	pthread_mutex_unlock(&lock);
	send_pulled(number, asked); /* also for a destroyed device: the tool waits for this message */
}

static bool any_running(void)
{
	bool any = false;

	pthread_mutex_lock(&lock);
	for (struct gpubpf_hook_device *d = devices; d && !leaving; d = d->next)
		any |= is_of_this_process(d) && atomic_load(&d->running) > 0;
	pthread_mutex_unlock(&lock);
	return any;
}

/* Copy one device while no launch is in progress. */
static enum gpubpf_held pull_held(struct gpubpf_hook_device *d, uint64_t deadline)
{
	uint64_t now = gpubpf_now_ns(), left;

	gpubpf_assert_held(&lock);
	if (!is_of_this_process(d) || d->state != DEVICE_READY)
		return GPUBPF_HELD;
	if (d->shared)
		return GPUBPF_HELD_SHARED;
	if (atomic_load(&d->has_untracked))
		return GPUBPF_HELD_UNFOLLOWED;
	if (!pull(d, now < deadline ? (deadline - now) / 1000000 : 0, &left))
		return GPUBPF_HELD_BUSY;
	return atomic_load(&d->dirty) || atomic_load(&d->running) ? GPUBPF_HELD_BUSY : GPUBPF_HELD;
}

enum gpubpf_held gpubpf_device_pull_snapshot(uint64_t deadline)
{
	const struct timespec nap = { .tv_nsec = 100000 };
	enum gpubpf_held held;

	while (any_running() && gpubpf_now_ns() < deadline)
		nanosleep(&nap, NULL);
	do {
		held = GPUBPF_HELD;
		pthread_mutex_lock(&lock);
		for (struct gpubpf_hook_device *d = devices; d && !leaving && held == GPUBPF_HELD; d = d->next)
			held = pull_held(d, deadline);
		pthread_mutex_unlock(&lock);
	} while (held == GPUBPF_HELD_BUSY && gpubpf_now_ns() < deadline);
	return held;
}

void gpubpf_hook_untracked_launch(struct gpubpf_hook_device *d)
{
	if (!atomic_load_explicit(&d->has_untracked, memory_order_relaxed))
		atomic_store(&d->has_untracked, true);
}

void gpubpf_hook_completed(struct gpubpf_hook_device *d)
{
	gpubpf_ref_was_counted(atomic_fetch_sub(&d->running, 1));
}

/* The final copy. It does not wait for a kernel that never ends. While records exceed the mirror's capacity, it
 * waits for the reader to make room. The tool handles records that do not fit in time. */
static void pull_last(struct gpubpf_hook_device *d)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t deadline = gpubpf_now_ns() + LAST_RECORDS_NS, left = 0;
	bool good = true;

	if (atomic_load(&d->dirty) && !atomic_load(&d->running)) {
		good = pull(d, SETTLE_MS, &left);
		while (good && left && gpubpf_session_up() && gpubpf_now_ns() < deadline) {
			nanosleep(&nap, NULL);
			good = pull(d, 0, &left);
		}
		if (good)
			send_pulled(d->number, 0);
	}
	pthread_mutex_lock(&d->lock);
	gpubpf_drain_stop(d);
	if (good && !left)
		gpubpf_device_report_final_copy(d, true);
	pthread_mutex_unlock(&d->lock);
}

static bool may_pull(const struct gpubpf_hook_device *d)
{
	return atomic_load(&d->dirty) && !atomic_load(&d->running) && is_of_this_process(d) &&
	       gpubpf_now_ns() >= atomic_load(&d->next_pull_ns);
}

static bool any_idle(void)
{
	const struct gpubpf_hook_device *d = devices;

	while (d && !may_pull(d))
		d = d->next;
	return d;
}

/* Copy idle devices back. The application's thread holds the list's lock. `from`: when the work was requested; the
 * wait since then is part of the cost. */
static void pull_idle(void *from)
{
	uint64_t left, now;

	for (struct gpubpf_hook_device *d = devices; d; d = d->next) {
		if (!may_pull(d))
			continue;
		pull(d, REQUESTED_PULL_MS, &left);
		now = gpubpf_now_ns();
		atomic_store(&d->next_pull_ns, now + PULL_TIME_DIVISOR * (now - *(uint64_t *)from));
		send_pulled(d->number, 0);
	}
}

void gpubpf_hook_device_synced(void)
{
	uint64_t from;

	if (!gpubpf_device_any_copied_arena() || pthread_mutex_trylock(&lock))
		return;
	from = gpubpf_now_ns();
	if (any_idle())
		gpubpf_run_on_agent_thread(pull_idle, &from);
	pthread_mutex_unlock(&lock);
}

static bool wait_loaded(struct gpubpf_hook_device *d, uint64_t ns)
{
	const struct timespec nap = { .tv_nsec = 100000 };
	uint64_t deadline = gpubpf_now_ns() + ns;

	while (atomic_load(&d->users) && gpubpf_now_ns() < deadline)
		nanosleep(&nap, NULL);
	return !atomic_load(&d->users);
}

/* Wait for twins that have ended for the application but whose notification is pending: runtimes notify from their
 * own threads. True if none is left. */
static bool wait_ended(struct gpubpf_hook_device *d)
{
	const struct timespec nap = { .tv_nsec = 100000 };
	uint64_t deadline = gpubpf_now_ns() + LAST_TWINS_NS;

	while (atomic_load(&d->running) && gpubpf_now_ns() < deadline)
		nanosleep(&nap, NULL);
	return !atomic_load(&d->running);
}

/* After this no agent thread calls the runtime. */
void gpubpf_device_copy_all_at_exit(void)
{
	if (!gpubpf_mutex_lock_until(&lock, gpubpf_now_ns() + EXIT_WAIT_NS))
		return;
	for (struct gpubpf_hook_device *d = devices; d; d = d->next) {
		if (is_of_this_process(d))
			wait_loaded(d, LOADING_NS);
		if (atomic_load(&d->dirty) && is_of_this_process(d))
			wait_ended(d);
	}
	for (struct gpubpf_hook_device *d = devices; d; d = d->next)
		if (is_of_this_process(d))
			pull_last(d);
	gpubpf_allocations_leave();
	leaving = true;
	pthread_mutex_unlock(&lock);
}

static struct {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool left;
} leave = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *leave_thread(void *arg)
{
	gpubpf_device_copy_all_at_exit();
	pthread_mutex_lock(&leave.lock);
	leave.left = true;
	pthread_cond_signal(&leave.ended);
	pthread_mutex_unlock(&leave.lock);
	return NULL;
}

/* A driver that never answers blocks one of the agent's threads, not the program. */
static void leave_bounded(void)
{
	uint64_t deadline = gpubpf_now_ns() + EXIT_NS;

	gpubpf_cond_init(&leave.ended);
	if (gpubpf_thread_start(leave_thread, NULL) < 0) {
		gpubpf_device_copy_all_at_exit();
		return;
	}
	pthread_mutex_lock(&leave.lock);
	while (!leave.left && gpubpf_now_ns() < deadline)
		gpubpf_cond_wait_until(&leave.ended, &leave.lock, deadline);
	if (!leave.left)
		gpubpf_log_once(
			"the driver did not answer for %llu s when the program ended: maps may lack the results of "
			"its last kernels",
			EXIT_NS / 1000000000);
	pthread_mutex_unlock(&leave.lock);
}

/* The runtime shuts down after the agent and must not be called from then on. */
static void wait_for_loads(void)
{
	gpubpf_agent_jobs_stop();
	if (!gpubpf_mutex_lock_until(&lock, gpubpf_now_ns() + EXIT_WAIT_NS))
		return;
	for (struct gpubpf_hook_device *d = devices; d; d = d->next)
		if (is_of_this_process(d))
			wait_loaded(d, LOADING_NS);
	pthread_mutex_unlock(&lock);
}

static void at_exit(void)
{
	if (gpubpf_session_sealed())
		return; /* all data has been copied, and no further call is allowed */
	wait_for_loads();
	if (gpubpf_device_any_copied_arena())
		leave_bounded();
	gpubpf_session_flush_rings();
}

/* Register the handler when the first device is ready, so that it runs before exit handlers that the runtime
 * registered earlier. */
static void register_ready(bool shared)
{
	if (!shared)
		atomic_store(&any_copied, true);
	if (!atomic_exchange(&any_ready, true))
		atexit(at_exit);
}

bool gpubpf_device_any_copied_arena(void)
{
	return atomic_load_explicit(&any_copied, memory_order_relaxed);
}

static void stop_threads(struct gpubpf_hook_device *d)
{
	pthread_mutex_lock(&d->lock);
	gpubpf_drain_stop(d);
	pthread_mutex_unlock(&d->lock);
}

/* Remove the device from the list and release its resources. False: they must not be touched. */
static bool release_device(struct gpubpf_hook_device *d)
{
	const struct gpubpf_device_ops *ops = d->ops->device;
	bool loaded;

	if (!is_of_this_process(d))
		return false; /* inherited over a fork: in no list, and its runtime may be in any state */
	pthread_mutex_lock(&lock);
	*d->link = d->next;
	if (d->next)
		d->next->link = d->link;
	pthread_mutex_unlock(&lock);
	loaded = wait_loaded(d, CONTEXT_END_NS);
	gpubpf_allocations_detach(d); /* unconditional: its context is about to be destroyed */
	if (!wait_ended(d) || !loaded) {
		stop_threads(d);
		return false; /* destroyed while a twin runs; the end of the twin is still counted here */
	}
	pull_last(d);
	if (d->state == DEVICE_READY) {
		gpubpf_external_maps_free(d);
		ops->arena_detach(d->device);
	}
	if (d->device)
		ops->close(d->device);
	unmap_arena(d, d->host, d->size);
	gpubpf_request_drop(d->asked);
	return true;
}

struct release_job {
	struct gpubpf_hook_device *device;
	bool done;
};

static void release_job_run(void *arg)
{
	struct release_job *g = arg;

	g->done = release_device(g->device);
}

static bool release_off_thread(struct gpubpf_hook_device *d)
{
	struct release_job g = { d, false };

	if (is_of_this_process(d) && d->device)
		gpubpf_run_on_agent_thread(release_job_run, &g);
	else
		release_job_run(&g);
	return g.done;
}

void gpubpf_hook_device_destroy(struct gpubpf_hook_device *d)
{
	if (!d || (is_of_this_process(d) && !wait_ended(d)))
		return; /* destroyed while a twin runs: stays in the list, to be copied back after the twin's end */
	if (!release_off_thread(d))
		return;
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->drained);
	free(d);
}

static void end_device(struct gpubpf_hook_device *d)
{
	bool ends = release_off_thread(d);

	if (!is_of_this_process(d))
		return;
	pthread_mutex_lock(&d->lock);
	if (ends)
		d->device = NULL;
	d->state = DEVICE_REFUSED; /* for threads that still wait for a twin there */
	pthread_mutex_unlock(&d->lock);
}

/* Several threads may destroy or reset the context at once: none returns before its resources are released. */
void gpubpf_hook_device_end(const struct gpubpf_hook_ops *ops, const void *key)
{
	const struct timespec nap = { .tv_nsec = 100000 };
	struct keyed *k = key ? find_keyed(ops, key, true) : NULL;
	uint64_t deadline = gpubpf_now_ns() + CONTEXT_END_NS;

	if (!k)
		return;
	if (!atomic_exchange(&k->device->gone, true)) {
		end_device(k->device);
		atomic_store(&k->key, NULL);
	}
	while (atomic_load(&k->key) && gpubpf_now_ns() < deadline)
		nanosleep(&nap, NULL);
}

bool gpubpf_hook_device_gone(const struct gpubpf_hook_device *device)
{
	return atomic_load(&device->gone);
}

/* Either the thread that ends the device sees the user, or the user sees that it is gone. */
bool gpubpf_hook_device_use(struct gpubpf_hook_device *d)
{
	atomic_fetch_add(&d->users, 1);
	if (!atomic_load(&d->gone) && is_of_this_process(d))
		return true;
	gpubpf_hook_device_leave(d);
	return false;
}

void gpubpf_hook_device_leave(struct gpubpf_hook_device *d)
{
	gpubpf_ref_was_counted(atomic_fetch_sub(&d->users, 1));
}

/* Another thread may have held the list's lock. The child starts with an empty list. */
void gpubpf_device_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	gpubpf_shared_arena_after_fork();
	gpubpf_agent_jobs_after_fork();
	gpubpf_allocations_after_fork();
	gpubpf_stacks_after_fork();
	devices = NULL;
}
