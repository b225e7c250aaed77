/* SPDX-License-Identifier: Apache-2.0 */
#include "hooks/process/time.h"

#include <time.h>

uint64_t gpubpf_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

void gpubpf_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

bool gpubpf_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns)
{
	struct timespec ts = {
		.tv_sec = deadline_ns / 1000000000,
		.tv_nsec = deadline_ns % 1000000000,
	};

	return !pthread_cond_timedwait(cond, lock, &ts);
}

bool gpubpf_mutex_lock_until(pthread_mutex_t *lock, uint64_t deadline_ns)
{
	const struct timespec nap = { .tv_nsec = 100000 };

	while (pthread_mutex_trylock(lock)) {
		if (gpubpf_now_ns() >= deadline_ns)
			return false;
		nanosleep(&nap, NULL);
	}
	return true;
}
