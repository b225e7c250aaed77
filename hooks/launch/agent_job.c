/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job of an agent thread: to refresh the binding of one dispatch entry, which includes building twins. The thread
 * uses the kernel and the device only as long as the application has not released them.
 */
#include "agent_job.h"

#define SLICE_NS 10000000ull        /* a waiting agent thread checks this often whether its wait must end */

static _Thread_local struct gpubpf_agent_job *current_job;

void gpubpf_agent_job_begin(struct gpubpf_agent_job *job)
{
	current_job = job;
	gpubpf_wait_budget_exempt(true);
}

void gpubpf_agent_job_end(void)
{
	gpubpf_wait_budget_exempt(false);
	current_job = NULL;
}

bool gpubpf_is_agent_thread(void)
{
	return current_job;
}

bool gpubpf_agent_job_is_over(const struct gpubpf_hook_kernel *kernel)
{
	return atomic_load(&kernel->gone) || gpubpf_devices_are_exiting();
}

bool gpubpf_agent_job_may_continue(void)
{
	return !gpubpf_agent_job_is_over(current_job->dispatch->kernel) &&
	       current_job->generation == gpubpf_plan_generation() && gpubpf_session_enabled() &&
	       gpubpf_now_ns() < current_job->until_ns;
}

uint64_t gpubpf_agent_job_slice_end(void)
{
	return gpubpf_now_ns() + SLICE_NS;
}

bool gpubpf_agent_job_use_device(void)
{
	struct gpubpf_hook_kernel *kernel = current_job ? current_job->dispatch->kernel : NULL;
	bool uses;

	if (!kernel)
		return true;
	pthread_mutex_lock(&kernel->lock);
	uses = !gpubpf_agent_job_is_over(kernel) && gpubpf_hook_device_use(current_job->dispatch->device);
	pthread_mutex_unlock(&kernel->lock);
	return uses;
}

void gpubpf_agent_job_leave_device(void)
{
	if (current_job)
		gpubpf_hook_device_leave(current_job->dispatch->device);
}

bool gpubpf_agent_job_use_kernel(void)
{
	if (!gpubpf_agent_job_use_device())
		return false;
	if (!current_job)
		return true;
	pthread_mutex_lock(&current_job->dispatch->kernel->lock);
	if (!gpubpf_agent_job_is_over(current_job->dispatch->kernel))
		return true;
	gpubpf_agent_job_leave_kernel();
	return false;
}

void gpubpf_agent_job_leave_kernel(void)
{
	if (!current_job)
		return;
	pthread_mutex_unlock(&current_job->dispatch->kernel->lock);
	gpubpf_agent_job_leave_device();
}
