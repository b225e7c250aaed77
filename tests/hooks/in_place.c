/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces the function that switches to the agent's own stack. Tests that link single files of the agent use it, since
 * their threads have large stacks.
 */
#include "hooks/process/agent_thread.h"

void gpubpf_run_on_agent_thread(void (*work)(void *arg), void *arg)
{
	work(arg);
}
