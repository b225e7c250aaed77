/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the agent's stack switch in tests of single files: every thread has a large enough stack. */
#include "hooks/process/agent_thread.h"

void gpubpf_run_on_agent_thread(void (*work)(void *arg), void *arg)
{
	work(arg);
}
