/* SPDX-License-Identifier: Apache-2.0 */
#include "wait.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "core/wire/checks.h"

/* cuda_end_wait() gives up after this time, because a GPU kernel that never ends would block it forever */
#define CLOSE_WAIT_MS 500

/*
 * A thread that waits until the context is idle. The driver's wait has no timeout, so a caller whose deadline passes
 * leaves the thread waiting.
 */
struct waiter {
	const struct cuda_driver *cu;
	CUcontext context;
	sem_t ended;
	/* true once the wait has begun or was cancelled; the thread that sets it first decides which of the two */
	atomic_bool begun;
	atomic_int users; /* reference count: one reference of the thread, one of the device */
	_Atomic(CUresult) error;
};

static void put_waiter(struct waiter *w)
{
	if (gpubpf_ref_was_last(atomic_fetch_sub(&w->users, 1))) {
		sem_destroy(&w->ended);
		free(w);
	}
}

static CUresult wait_in_context(const struct waiter *w)
{
	CUresult error;
	int mode;

	error = cuda_enter(w->cu, w->context, &mode);
	if (error)
		return error;
	error = CUDA_ERROR_NOT_READY;
	if (cuda_wait_begin()) {
		error = w->cu->ctx_synchronize();
		cuda_wait_end();
	}
	cuda_leave(w->cu, &mode);
	return error;
}

static void *wait_context(void *arg)
{
	struct waiter *w = arg;

	if (!atomic_exchange(&w->begun, true))
		atomic_store(&w->error, wait_in_context(w));
	sem_post(&w->ended);
	put_waiter(w);
	return NULL;
}

static int start_waiter(struct gpubpf_device *device)
{
	struct waiter *w = calloc(1, sizeof(*w));
	sigset_t all, before;
	pthread_t thread;
	int err;

	if (!w)
		return -ENOMEM;
	w->cu = device->cu;
	w->context = device->context;
	w->users = 2;
	sem_init(&w->ended, 0, 0);
	sigfillset(&all); /* block all signals: the application's handlers must not run on this thread */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, wait_context, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		sem_destroy(&w->ended);
		free(w);
		return -err;
	}
	pthread_detach(thread);
	device->waiter = w;
	return 0;
}

/*
 * Waits for device->waiter until the deadline. On a timeout the device keeps this waiter, so that it never has more
 * than one.
 */
static int wait_waiter(struct gpubpf_device *device, const struct timespec *until)
{
	struct waiter *w = device->waiter;
	int err;

	while (sem_clockwait(&w->ended, CLOCK_MONOTONIC, until) < 0)
		if (errno != EINTR)
			return -errno;
	err = w->error ? -EIO : 0;
	device->waiter = NULL;
	put_waiter(w);
	return err;
}

static struct timespec deadline_in(uint32_t ms)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_nsec += ms % 1000 * 1000000l;
	at.tv_sec += ms / 1000 + at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	return at;
}

void cuda_end_wait(struct gpubpf_device *device)
{
	struct timespec until = deadline_in(CLOSE_WAIT_MS);
	struct waiter *w = device->waiter;

	if (!w)
		return;
	if (atomic_exchange(&w->begun, true))
		wait_waiter(device, &until);
	if (device->waiter)
		put_waiter(w);
	device->waiter = NULL;
}

int cuda_wait_idle(struct gpubpf_device *device, uint32_t timeout_ms)
{
	struct timespec until = deadline_in(timeout_ms);
	int err;

	if (cuda_twins_ended())
		return 0;
	/*
	 * device->waiter is from an earlier call that timed out; its wait may not cover GPU kernels launched since
	 * then, so a new wait follows
	 */
	err = device->waiter ? wait_waiter(device, &until) : 0;
	if (!err)
		err = start_waiter(device);
	return err ? err : wait_waiter(device, &until);
}
