/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs work in a fork, which starts faster than a new process. Damage and crashes stay in the fork. It has the time
 * that is left to this process (alarm(2)), and ends with its process group.
 */
#ifndef GPUBPF_WORKER_IN_FORK_H
#define GPUBPF_WORKER_IN_FORK_H

/*
 * Calls fn in a fork and waits for its end. *status is that of waitpid(); fn's value is the exit status. 0 or -errno.
 */
int gpubpf_in_fork(int (*fn)(void *arg), void *arg, int *status);

#endif
