/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: changes a twin module from one state to the next, or waits until another thread or the session has done so.
 * Before: the module is in any state (enum in twin.h).
 * After: the module is in the next state, or the wait budget is used up.
 * Requires: the caller holds the program's lock, which is released during the work and the waits. Waits of agent
 * threads do not use the wait budget.
 */
#include "twin.h"

#include <errno.h>

#include "core/wire/checks.h"

/*
 * Count the time since `from` as time that a launch waited for this step. The waits of agent threads are not counted.
 */
static void count_wait(enum gpubpf_wait_part part, uint64_t from)
{
	struct gpubpf_kernel_table *table = gpubpf_session_kernel_table();

	if (table && !gpubpf_is_agent_thread())
		gpubpf_kernel_table_add(&table->wait_ns[part], gpubpf_now_ns() - from);
}

/* If the application released the program during the load, unload the module, since no later call would unload it. */
static void unload_closed(struct gpubpf_twin_module *module)
{
	struct gpubpf_hook_program *program = module->program;
	void *handle = NULL;

	pthread_mutex_lock(&program->lock);
	if (program->closed) {
		handle = module->handle;
		module->handle = NULL;
	}
	pthread_mutex_unlock(&program->lock);
	if (handle)
		program->ops->twin_unload(handle);
}

/* Send the request. Returns -ESTALE if the application has released the kernel of this agent thread's job. */
static int request_by_kernel(struct gpubpf_twin_module *module, const char *kernel)
{
	int err;

	if (!gpubpf_agent_job_use_kernel())
		return -ESTALE;
	err = gpubpf_twin_send_request(module, kernel);
	gpubpf_agent_job_leave_kernel();
	return err;
}

static int load_on_device(struct gpubpf_twin_module *module)
{
	int err;

	if (!gpubpf_agent_job_use_device())
		return -ESTALE;
	err = gpubpf_twin_load(module);
	unload_closed(module);
	gpubpf_agent_job_leave_device();
	return err;
}

void gpubpf_twin_run_step(struct gpubpf_twin_module *module, int next, const char *kernel)
{
	uint64_t from = gpubpf_now_ns();
	int err, before = module->state;

	gpubpf_assert_held(&module->program->lock);
	module->state = SET_BUSY;
	pthread_mutex_unlock(&module->program->lock);
	err = next == SET_REQUESTED ? request_by_kernel(module, kernel) : load_on_device(module);
	count_wait(next == SET_REQUESTED ? GPUBPF_WAIT_REQUEST : GPUBPF_WAIT_LOAD, from);
	pthread_mutex_lock(&module->program->lock);
	module->state = err == -ESTALE ? before : err == -EAGAIN ? SET_NEW : err < 0 ? SET_REFUSED : next;
	pthread_cond_broadcast(&module->program->cond);
}

/*
 * Returns the time at which a wait must be interrupted. An agent thread wakes regularly to check whether its wait must
 * end.
 */
static uint64_t wake_at(uint64_t until)
{
	return gpubpf_is_agent_thread() ? gpubpf_agent_job_slice_end() : until;
}

static bool may_wait_on(uint64_t until)
{
	return gpubpf_is_agent_thread() ? gpubpf_agent_job_may_continue() : gpubpf_now_ns() < until;
}

void gpubpf_twin_wait_while_busy(struct gpubpf_twin_module *module)
{
	uint64_t until, from = gpubpf_now_ns();

	gpubpf_assert_held(&module->program->lock);
	if (module->state != SET_BUSY)
		return;
	until = gpubpf_wait_budget_begin();
	while (module->state == SET_BUSY)
		if (!gpubpf_cond_wait_until(&module->program->cond, &module->program->lock, wake_at(until)) &&
		    !may_wait_on(until))
			break;
	gpubpf_wait_budget_end();
	count_wait(GPUBPF_WAIT_OTHERS, from);
}

void gpubpf_twin_wait_for_answer(struct gpubpf_twin_module *module, const char *kernel)
{
	struct gpubpf_request *request = module->request;
	uint64_t until, from = gpubpf_now_ns();
	int err = -ETIMEDOUT;
	bool same;

	gpubpf_assert_held(&module->program->lock);
	gpubpf_request_hold(request);
	pthread_mutex_unlock(&module->program->lock);
	until = gpubpf_wait_budget_begin();
	if (gpubpf_request_is_done(request) || may_wait_on(until)) {
		do
			err = gpubpf_request_wait(request, wake_at(until));
		while (err == -ETIMEDOUT && may_wait_on(until));
		if (err == -ETIMEDOUT && !gpubpf_is_agent_thread())
			gpubpf_wait_budget_suspend();
	}
	gpubpf_wait_budget_end();
	count_wait(GPUBPF_WAIT_ANSWER, from);
	pthread_mutex_lock(&module->program->lock);
	same = module->state == SET_REQUESTED && module->request == request;
	gpubpf_request_drop(request);
	if (!same || err == -ETIMEDOUT)
		return;
	if (!err) {
		gpubpf_twin_run_step(module, SET_LOADED, kernel);
	} else {
		gpubpf_twin_set_reason(&module->why, err, "the session ended before the twin was ready");
		module->state = SET_REFUSED;
	}
}
