/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of helpers 5 and 502. The arena's header has the factors that convert the device's clock cycles to
 * nanoseconds of CLOCK_MONOTONIC. To find the rate, the agent reads both clocks twice. The first reading is taken when
 * the agent joins the session, and the second when the first twin is ready. So the compile time serves as a long
 * baseline.
 *
 * A clock that counts nanoseconds, such as NVIDIA's, is used with rate 1. A measured rate would be worse, because a GPU
 * kernel reads the clock, and each reading is uncertain by the microseconds that this kernel runs. The two clocks still
 * drift apart. Therefore the agent compares both clocks again when maps are copied while the device is idle, at most
 * once a second. It subtracts the difference from one word of the header, so no reader sees half of an update.
 */
#include "device.h"

#include <errno.h>
#include <time.h>

#include "core/wire/checks.h"
#include "core/wire/unix_time.h"
#include "maps/layout.h"

#define BASELINE_NS 10000000ull /* minimum time between the two readings; an error of 50 ns is then 5 ppm */
#define READINGS 8
#define RECALIBRATE_NS 1000000000ull
#define UNIX_ERROR_NS 10000ull /* changes of (CLOCK_REALTIME - CLOCK_MONOTONIC) below this are ignored */

struct reading {
	uint64_t cycles, ns, error_ns;
};

static struct reading tsc_start;

#ifdef __x86_64__
#define HAS_TSC 1
static uint64_t tsc(void)
{
	return __builtin_ia32_rdtsc();
}
#else
#define HAS_TSC 0
static uint64_t tsc(void)
{
	return 0;
}
#endif

static int read_once(struct gpubpf_hook_device *d, struct reading *r)
{
	uint64_t before, after;
	int err = 0;

	if (d) {
		err = d->ops->device->clock(d->device, &r->cycles, &before, &after);
	} else {
		before = gpubpf_now_ns();
		r->cycles = tsc();
		after = gpubpf_now_ns();
	}
	if (err < 0)
		return err;
	r->error_ns = (after - before + 1) / 2;
	r->ns = before + r->error_ns;
	return 0;
}

/*
 * Read the device clock READINGS times, each time between two readings of the host clock. *best receives the reading
 * with the shortest time between the host readings.
 */
static int read_clock(struct gpubpf_hook_device *d, struct reading *best)
{
	best->error_ns = UINT64_MAX;
	for (int i = 0; i < READINGS; i++) {
		struct reading r;
		int err = read_once(d, &r);

		if (err < 0)
			return err;
		if (r.error_ns < best->error_ns)
			*best = r;
	}
	return 0;
}

void gpubpf_clock_read_baseline(void)
{
	if (HAS_TSC)
		read_clock(NULL, &tsc_start);
}

static void wait_baseline(uint64_t since_ns)
{
	uint64_t gone = gpubpf_now_ns() - since_ns;

	if (gone < BASELINE_NS)
		nanosleep(&(struct timespec){ .tv_nsec = BASELINE_NS - gone }, NULL);
}

static uint64_t rate(const struct reading *from, const struct reading *to)
{
	return ((unsigned __int128)(to->ns - from->ns) << 32) / (to->cycles - from->cycles);
}

void gpubpf_clock_calibrate(struct gpubpf_hook_device *d)
{
	const struct gpubpf_device_ops *ops = d->ops->device;
	uint32_t clock = ops->caps(d->device)->clock;
	struct gpubpf_hook_device *source = clock == GPUBPF_CLOCK_TSC ? NULL : d;
	struct gpubpf_arena_hdr *hdr = d->host;
	bool counts_ns = clock == GPUBPF_CLOCK_GLOBALTIMER;
	struct reading from = tsc_start, to;

	if (clock == GPUBPF_CLOCK_NONE || (!source && !HAS_TSC) || __atomic_load_n(&hdr->clock_mult, __ATOMIC_ACQUIRE))
		return; /* the device has no clock, or a process of the session has already calibrated it */
	if (counts_ns)
		from = (struct reading){ 0 };
	else if (source && read_clock(source, &from) < 0)
		return;
	if (!counts_ns)
		wait_baseline(from.ns);
	if (read_clock(source, &to) < 0 || to.cycles <= from.cycles)
		return;
	hdr->clock_cycles = to.cycles;
	hdr->clock_ns = to.ns;
	hdr->clock_error_ns = from.error_ns + to.error_ns;
	__atomic_store_n(&hdr->clock_mult, counts_ns ? 1ull << 32 : rate(&from, &to), __ATOMIC_RELEASE);
	if (d->shared)
		return;
	pthread_mutex_lock(&d->lock);
	if (!ops->arena_push(d->device, offsetof(struct gpubpf_arena_hdr, clock_cycles), &hdr->clock_cycles,
			     4 * sizeof(uint64_t)))
		gpubpf_arena_wait(ops, d->device);
	pthread_mutex_unlock(&d->lock);
}

/* Returns how many ns the device's clock, converted with the header's factors, is ahead of the host's clock. */
static int64_t clock_lead_ns(const struct gpubpf_arena_hdr *hdr, const struct reading *now)
{
	__int128 cycles = (int64_t)(now->cycles - hdr->clock_cycles);

	return (int64_t)(hdr->clock_ns - now->ns) + (int64_t)(cycles * (__int128)hdr->clock_mult >> 32);
}

/*
 * Subtract `by` ns from the header's clock_ns. Only this word changes, so a device reads either the old or the new
 * value.
 */
static void shift_clock(struct gpubpf_hook_device *d, int64_t by)
{
	const struct gpubpf_device_ops *ops = d->ops->device;
	struct gpubpf_arena_hdr *hdr = d->host;

	__atomic_fetch_sub(&hdr->clock_ns, by, __ATOMIC_RELAXED);
	if (!d->shared && !ops->arena_push(d->device, offsetof(struct gpubpf_arena_hdr, clock_ns), &hdr->clock_ns,
					   sizeof(hdr->clock_ns)))
		gpubpf_arena_wait(ops, d->device);
}

/* Update the header's offset from CLOCK_MONOTONIC to wall-clock time, because the user may have set the wall clock. */
static void update_unix_offset(struct gpubpf_hook_device *d)
{
	const struct gpubpf_device_ops *ops = d->ops->device;
	struct gpubpf_arena_hdr *hdr = d->host;
	uint64_t now = gpubpf_unix_offset_ns(), was = __atomic_load_n(&hdr->unix_ns, __ATOMIC_RELAXED);

	if (now - was + UNIX_ERROR_NS < 2 * UNIX_ERROR_NS)
		return;
	__atomic_store_n(&hdr->unix_ns, now, __ATOMIC_RELAXED);
	if (!d->shared &&
	    !ops->arena_push(d->device, offsetof(struct gpubpf_arena_hdr, unix_ns), &hdr->unix_ns, sizeof(hdr->unix_ns)))
		gpubpf_arena_wait(ops, d->device);
}

void gpubpf_clock_recalibrate(struct gpubpf_hook_device *d)
{
	struct gpubpf_arena_hdr *hdr = d->host;
	uint32_t clock = d->ops->device->caps(d->device)->clock;
	uint64_t size, started = gpubpf_now_ns();
	struct reading now;
	int64_t by;

	gpubpf_assert_held(&d->lock);
	if (!__atomic_load_n(&hdr->clock_mult, __ATOMIC_ACQUIRE) || started < d->next_clock_ns)
		return;
	d->next_clock_ns = started + RECALIBRATE_NS;
	update_unix_offset(d);
	if (read_clock(clock == GPUBPF_CLOCK_TSC ? NULL : d, &now) < 0)
		return;
	by = clock_lead_ns(hdr, &now);
	size = by < 0 ? -(uint64_t)by : (uint64_t)by;
	if (size + now.error_ns > hdr->clock_error_ns)
		/* largest error that timestamps had since the last comparison */
		hdr->clock_error_ns = size + now.error_ns;
	if (size > now.error_ns)
		shift_clock(d, by);
}
