/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs work in a fork, which starts faster than a new process. Damage and crashes stay in the fork. The fork has the
 * time that remains until this process's alarm(2), and is in this process's group, so it ends with it.
 */
#ifndef GPUBPF_WORKER_IN_FORK_H
#define GPUBPF_WORKER_IN_FORK_H

/*
 * Calls fn in a fork and waits for its end. *status is the wait status from waitpid(), with fn's result as exit status.
 * 0 or -errno.
 */
int gpubpf_in_fork(int (*fn)(void *arg), void *arg, int *status);

#endif
