/* SPDX-License-Identifier: Apache-2.0 */
/* For files of the agent that are tested without it: all threads have stack enough. */
#include "hooks/run_aside.h"

void gpubpf_run_aside(void (*work)(void *arg), void *arg)
{
	work(arg);
}
