/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs work that needs more stack than an application thread may have, which can be as little as PTHREAD_STACK_MIN. An
 * interposed call uses at most 2 KiB more stack than the runtime's own function (tests/hooks/stack). Work on files,
 * twins and devices needs more, and so do the agent's own calls of the runtime.
 */
#ifndef GPUBPF_HOOKS_AGENT_THREAD_H
#define GPUBPF_HOOKS_AGENT_THREAD_H

#include <stdbool.h>

/*
 * Run work(arg) in a new agent thread and wait for it. The thread inherits from the caller the Linux kernel's
 * per-thread state (affinity, priority, seccomp filters), handles no signals, and ends with the work.
 *
 * Requires: the caller holds no lock that the work takes, including the runtime's locks. The work must set the
 * runtime's per-thread state, such as the current context. During the work gpubpf_hook_callbacks has the caller's
 * value. The call preserves errno.
 *
 * In these cases the work runs in the calling thread: the calling thread is an agent thread, no thread can be started,
 * or there is no session. The same applies if the caller holds the dynamic linker's lock, as in a library's
 * constructor. The runtime needs that lock to load its own libraries.
 */
void gpubpf_run_on_agent_thread(void (*work)(void *arg), void *arg);

bool gpubpf_thread_is_own(void); /* is the calling thread an agent thread? */

/* Start a thread in which all signals are blocked. Returns 0 or a negative errno value. */
int gpubpf_thread_start(void *(*run)(void *arg), void *arg);

#endif
