/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to hooks/launch. agent_job.c holds the job of the calling agent thread; async_twins.c starts agent threads.
 */
#ifndef GPUBPF_HOOKS_AGENT_JOB_H
#define GPUBPF_HOOKS_AGENT_JOB_H

#include "hooks/agent.h"

struct gpubpf_agent_job {
	struct gpubpf_dispatch_entry *dispatch;
	uint64_t generation, until_ns;
};

/*
 * Make the job the calling thread's current job until gpubpf_agent_job_end(). Waits of the thread do not use the --wait
 * budget.
 */
void gpubpf_agent_job_begin(struct gpubpf_agent_job *job);
void gpubpf_agent_job_end(void);
/* Returns true if the application has released the kernel, or if the process is exiting. */
bool gpubpf_agent_job_is_over(const struct gpubpf_hook_kernel *kernel);

#endif
