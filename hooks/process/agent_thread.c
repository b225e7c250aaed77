/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs jobs in agent threads. A job has two users, the caller and the agent thread; the last of them to finish frees
 * the job. The thread first acquires and releases the dynamic linker's lock. If it does not get the lock within
 * LINKER_NS, the caller withdraws the job and does the work.
 */
#include "agent_thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "callbacks.h"
#include "core/wire/checks.h"
#include "hooks/process/time.h"
#include "process.h"

#define MIN_STACK_SIZE (1u << 20)
#define LINKER_NS 20000000ull /* how long the agent thread may wait for the dynamic linker's lock */

enum { OFFERED, SEEN, TAKEN, WITHDRAWN };

struct job {
	void (*work)(void *arg);
	void *arg;
	int callbacks;
	atomic_uint users;
	atomic_int state;
	sem_t news; /* posted when the thread takes the job, and again when the job is done */
};

_Thread_local int gpubpf_hook_callbacks;
static _Thread_local bool is_agent_thread; /* is the calling thread an agent thread? */

bool gpubpf_thread_is_own(void)
{
	return is_agent_thread;
}

struct start {
	void *(*run)(void *arg);
	void *arg;
};

static void *thread_main(void *arg)
{
	struct start start = *(struct start *)arg;

	free(arg);
	is_agent_thread = true;
	return start.run(start.arg);
}

/* Create the thread with all signals blocked, so that signals are handled by the application's threads. */
static int create_thread(struct start *start)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	size_t stack;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* the default stack size is `ulimit -s`, which may be small */
	if (!pthread_attr_getstacksize(&attr, &stack) && stack < MIN_STACK_SIZE)
		pthread_attr_setstacksize(&attr, MIN_STACK_SIZE);
	err = -pthread_create(&thread, &attr, thread_main, start);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

int gpubpf_thread_start(void *(*run)(void *arg), void *arg)
{
	struct start *start = malloc(sizeof(*start));
	int err = -ENOMEM;

	if (start) {
		*start = (struct start){ run, arg };
		err = create_thread(start);
	}
	if (err < 0)
		free(start);
	return err;
}

static void put_job(struct job *job)
{
	if (!gpubpf_ref_was_last(atomic_fetch_sub(&job->users, 1)))
		return;
	sem_destroy(&job->news);
	free(job);
}

/*
 * Wait until no thread holds the dynamic linker's lock. Constructors of libraries run with that lock held, and glibc's
 * dladdr() acquires it.
 */
static void wait_for_linker(void)
{
	Dl_info info;

	dladdr((void *)gpubpf_run_on_agent_thread, &info);
}

static void *run(void *arg)
{
	struct job *job = arg;
	int seen = SEEN;

	atomic_store(&job->state, SEEN);
	wait_for_linker();
	if (atomic_compare_exchange_strong(&job->state, &seen, TAKEN)) {
		sem_post(&job->news);
		gpubpf_hook_callbacks = job->callbacks;
		job->work(job->arg);
		sem_post(&job->news);
	}
	put_job(job);
	return NULL;
}

static bool wait_until(struct job *job, uint64_t ns)
{
	const struct timespec deadline = { ns / 1000000000, ns % 1000000000 };
	int err;

	do
		err = sem_clockwait(&job->news, CLOCK_MONOTONIC, &deadline);
	while (err < 0 && errno == EINTR);
	return !err;
}

static void wait_done(struct job *job)
{
	while (sem_wait(&job->news) < 0 && errno == EINTR)
		;
}

/*
 * Wait until the thread takes the job. Returns false if the thread runs but did not get the dynamic linker's lock in
 * time; then the caller must do the work. As long as the thread has not started to run, the caller waits without a
 * limit.
 */
static bool wait_taken(struct job *job)
{
	int seen = SEEN;

	while (!wait_until(job, gpubpf_now_ns() + LINKER_NS)) {
		if (atomic_compare_exchange_strong(&job->state, &seen, WITHDRAWN))
			return false;
		seen = SEEN;
	}
	return true;
}

/* Do the work in a new thread. Returns false if the work was not done. */
static bool run_in_thread(void (*work)(void *arg), void *arg)
{
	struct job *job = calloc(1, sizeof(*job));
	bool done;

	if (!job)
		return false;
	job->work = work;
	job->arg = arg;
	job->callbacks = gpubpf_hook_callbacks;
	job->users = 2;
	sem_init(&job->news, 0, 0);
	if (gpubpf_thread_start(run, job) < 0) {
		put_job(job);
		put_job(job);
		return false;
	}
	done = wait_taken(job);
	if (done)
		wait_done(job);
	put_job(job);
	return done;
}

/*
 * Returns true if the agent may start a thread. Without a session it may not, because a seccomp filter may kill the
 * application for it. It also may not in a child of vfork(), where the thread would run on the parent's memory.
 */
static bool may_start(void)
{
	if (!gpubpf_session_present() || gpubpf_session_sealed())
		return false;
	return gpubpf_session_joined() ? gpubpf_session_owned() : gpubpf_lockdown_find_call() < 0;
}

void gpubpf_run_on_agent_thread(void (*work)(void *arg), void *arg)
{
	int error = errno, cancel;
	bool done;

	if (is_agent_thread || !may_start()) {
		work(arg);
		return;
	}
	/* no cancellation while the other thread uses `arg`, which may be on this thread's stack */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	done = run_in_thread(work, arg);
	pthread_setcancelstate(cancel, NULL);
	errno = error;
	if (!done)
		work(arg);
}
