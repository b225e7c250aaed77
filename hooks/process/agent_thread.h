/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs work that needs more stack than an application thread may have: its stack may be as small as PTHREAD_STACK_MIN.
 * An interposed call uses at most 2 KiB more stack than the runtime's own function (tests/stack). Work on files, twins
 * and devices, and the agent's own calls of the runtime, need more.
 */
#ifndef GPUBPF_HOOKS_AGENT_THREAD_H
#define GPUBPF_HOOKS_AGENT_THREAD_H

/*
 * Run work(arg) in a new agent thread and wait for it. The thread inherits from the caller the kernel's per-thread
 * state (affinity, priority, seccomp filters), takes no signals, and ends with the work.
 *
 * Requires: the caller holds no lock that the work takes; the runtime's locks count. The work must itself set the
 * runtime's per-thread state, such as the current context. In the work gpubpf_hook_callbacks has the caller's value.
 * The call preserves errno.
 *
 * The work runs in the calling thread if that is an agent thread, if no thread can be started, or without a session.
 * It also does so if the caller holds the dynamic linker's lock, as in a library's constructor: the runtime takes that
 * lock to load its own libraries.
 */
void gpubpf_run_on_agent_thread(void (*work)(void *arg), void *arg);

/* Start a thread with the application's signals blocked. 0 or -errno. */
int gpubpf_thread_start(void *(*run)(void *arg), void *arg);

#endif
