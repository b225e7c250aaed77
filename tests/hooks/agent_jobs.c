/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf_agent_jobs_wait() must wait for an agent thread that builds a twin. The thread reads the session's kernel table
 * to its end, and a session that ends unmaps the table.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

#include "hooks/agent.h"
#include "hooks/launch/agent_job.h"
#include "hooks/launch/gate.h"
#include "tests/tap.h"

#define SHORT_NS 20000000ull
#define LONG_NS 20000000000ull

static sem_t begun, may_end;
static struct gpubpf_kernel_table table;

uint64_t gpubpf_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

struct gpubpf_kernel_table *gpubpf_session_kernel_table(void)
{
	return &table;
}

/* -- stubs of the other files of hooks/launch -- */

void gpubpf_agent_job_begin(struct gpubpf_agent_job *job)
{
	(void)job;
}

void gpubpf_agent_job_end(void)
{
}

bool gpubpf_agent_job_is_over(const struct gpubpf_hook_kernel *kernel)
{
	(void)kernel;
	return true;
}

bool gpubpf_devices_are_exiting(void)
{
	return false;
}

void gpubpf_hook_kernel_hold(struct gpubpf_hook_kernel *kernel)
{
	(void)kernel;
}

void gpubpf_hook_kernel_put(struct gpubpf_hook_kernel *kernel)
{
	(void)kernel;
}

uint32_t gpubpf_session_wait_ms(void)
{
	return 0;
}

void gpubpf_subsets_build(struct gpubpf_dispatch_entry *dispatch)
{
}

void gpubpf_twin_drop_detached(struct gpubpf_dispatch_entry *dispatch)
{
	(void)dispatch;
}

bool gpubpf_twin_refresh_binding(struct gpubpf_dispatch_entry *dispatch, bool may_wait)
{
	(void)dispatch;
	(void)may_wait;
	sem_post(&begun);
	sem_wait(&may_end);
	return true;
}

int gpubpf_thread_start(void *(*run)(void *arg), void *arg)
{
	pthread_t thread;
	int err = pthread_create(&thread, NULL, run, arg);

	return err ? -err : pthread_detach(thread);
}

int main(void)
{
	static struct gpubpf_hook_kernel kernel;
	static struct gpubpf_dispatch_entry dispatch = { .kernel = &kernel };

	sem_init(&begun, 0, 0);
	sem_init(&may_end, 0, 0);
	ok(gpubpf_agent_jobs_wait(SHORT_NS), "no thread builds a twin: no wait");
	ok(gpubpf_agent_job_start(&dispatch), "an agent thread starts");
	sem_wait(&begun);
	ok(!gpubpf_agent_jobs_wait(SHORT_NS), "a thread that builds a twin has not ended within the limit");
	sem_post(&may_end);
	ok(gpubpf_agent_jobs_wait(LONG_NS), "after the twin is built, it has ended");
	ok(!atomic_load(&dispatch.is_refreshing), "and a later launch can start the next thread");
	return done();
}
