/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pauses launches (a hold) while the tool reads the maps. A launch counts itself as running and then checks for a hold.
 * The holding thread sets the hold and then checks for running launches. So one of the two sees the other. A launch
 * waits at most as long as the tool requested, and stops waiting when the session ends.
 */
#include "hooks/agent.h"

#include <time.h>

#include "core/wire/checks.h"

#define MAX_HOLD_MS 5000
#define COPY_TIME_DIVISOR 2 /* half of the hold's time is for copying; in the other half the tool reads the mirrors */

static atomic_uint_fast64_t until_ns; /* end of the hold, in gpubpf_now_ns() time; 0: no hold */

static bool is_held(void)
{
	uint64_t until = atomic_load(&until_ns);

	return until && gpubpf_session_up() && gpubpf_now_ns() < until;
}

/* Launches in a runtime callback must not wait, so they ignore the hold. */
void gpubpf_hold_enter(struct gpubpf_hook_device *d)
{
	const struct timespec nap = { .tv_nsec = 100000 };

	atomic_fetch_add(&d->running, 1);
	while (!gpubpf_hook_callbacks && is_held()) {
		gpubpf_ref_was_counted(atomic_fetch_sub(&d->running, 1));
		while (is_held())
			nanosleep(&nap, NULL);
		atomic_fetch_add(&d->running, 1);
	}
}

void gpubpf_hold_launches(uint32_t ms)
{
	uint64_t now = gpubpf_now_ns(), ns = (ms < MAX_HOLD_MS ? ms : MAX_HOLD_MS) * 1000000ull;
	struct gpubpf_writer w = { 0 };

	atomic_store(&until_ns, ns ? now + ns : 0);
	if (!ns)
		return;
	gpubpf_put_u32(&w, gpubpf_device_pull_snapshot(now + ns / COPY_TIME_DIVISOR));
	gpubpf_client_notify(GPUBPF_MSG_HELD, &w);
	gpubpf_writer_finish(&w);
}
