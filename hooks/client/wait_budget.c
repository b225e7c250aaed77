/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long launches may still wait for the session. The --wait budget counts elapsed time and applies to the whole
 * process: it decreases while at least one thread waits. When a request misses its deadline, the tool may be stopped or
 * not scheduled. Then no thread waits until the tool sends something again.
 */
#include "session.h"

#include "core/wire/checks.h"

#define AGENT_WAIT_NS 10000000000ull /* limit for one wait of an agent thread that builds twins */

static struct {
	pthread_mutex_t lock;
	uint32_t waiting;  /* number of threads that are waiting */
	uint64_t since_ns; /* time at which `waiting` last became nonzero */
	uint64_t spent_ns; /* ns of the budget that earlier waits used */
	atomic_bool is_suspended;
} wait_budget = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* the calling thread is an agent thread that builds twins; its waits do not use the budget */
static _Thread_local bool is_exempt;

void gpubpf_wait_budget_exempt(bool exempt)
{
	is_exempt = exempt;
}

uint64_t gpubpf_wait_budget_begin(void)
{
	uint64_t budget = gpubpf_session_wait_ms() * 1000000ull, now = gpubpf_now_ns(), until;

	if (is_exempt)
		return now + AGENT_WAIT_NS;
	pthread_mutex_lock(&wait_budget.lock);
	if (!wait_budget.waiting++)
		wait_budget.since_ns = now;
	until = budget > wait_budget.spent_ns ? wait_budget.since_ns + (budget - wait_budget.spent_ns) : 0;
	pthread_mutex_unlock(&wait_budget.lock);
	return wait_budget.is_suspended ? 0 : until;
}

void gpubpf_wait_budget_end(void)
{
	if (is_exempt)
		return;
	pthread_mutex_lock(&wait_budget.lock);
	if (gpubpf_ref_was_last(wait_budget.waiting--))
		wait_budget.spent_ns += gpubpf_now_ns() - wait_budget.since_ns;
	pthread_mutex_unlock(&wait_budget.lock);
}

void gpubpf_wait_budget_suspend(void)
{
	atomic_store(&wait_budget.is_suspended, true);
}

bool gpubpf_wait_budget_is_suspended(void)
{
	return atomic_load(&wait_budget.is_suspended);
}

bool gpubpf_wait_budget_is_left(void)
{
	uint64_t budget = gpubpf_session_wait_ms() * 1000000ull, now = gpubpf_now_ns(), spent;

	pthread_mutex_lock(&wait_budget.lock);
	spent = wait_budget.spent_ns + (wait_budget.waiting ? now - wait_budget.since_ns : 0);
	pthread_mutex_unlock(&wait_budget.lock);
	return spent < budget && !gpubpf_wait_budget_is_suspended();
}

void gpubpf_wait_budget_resume(void)
{
	atomic_store(&wait_budget.is_suspended, false);
}

void gpubpf_wait_budget_renew(void)
{
	pthread_mutex_lock(&wait_budget.lock);
	wait_budget.since_ns = gpubpf_now_ns();
	wait_budget.spent_ns = 0;
	pthread_mutex_unlock(&wait_budget.lock);
	gpubpf_wait_budget_resume();
}

void gpubpf_wait_budget_lock(void)
{
	pthread_mutex_lock(&wait_budget.lock);
}

void gpubpf_wait_budget_unlock(bool child)
{
	if (child) {
		wait_budget.waiting = 0;
		wait_budget.is_suspended = false;
	}
	pthread_mutex_unlock(&wait_budget.lock);
}
