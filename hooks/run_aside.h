/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that needs more stack than a thread of the application may have. Such a thread may be as small as
 * PTHREAD_STACK_MIN. A hooked call writes at most 2 KiB more of it than the runtime's own function (tests/stack). Files,
 * twins, devices and the agent's own calls of the runtime need more.
 */
#ifndef GPUBPF_HOOKS_RUN_ASIDE_H
#define GPUBPF_HOOKS_RUN_ASIDE_H

/*
 * Run work(arg) in a thread of the agent and wait for it. The thread is a new one: it inherits from the caller what the
 * kernel keeps per thread (affinity, priority, seccomp filters), takes no signals, and ends with the work.
 *
 * Requires: the caller holds no lock that the work takes, which may be one of the runtime's own. The work makes current
 * what the runtime keeps per thread. It sees the caller's gpubpf_hook_callbacks; the caller's errno stays.
 *
 * The work runs in the caller itself where that is a thread of the agent, where no thread can be started, and without a
 * session. It does so too where the caller holds the dynamic linker's lock, as in a library's constructor: the runtime
 * takes that lock to load its own libraries.
 */
void gpubpf_run_aside(void (*work)(void *arg), void *arg);

#endif
