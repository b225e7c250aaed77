/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs work in a forked process. A fork starts faster than a new program, and crashes or damaged memory affect only the
 * fork. The fork inherits the remaining time of this process's alarm(2). It is in the same process group, so it is
 * killed together with this process.
 */
#ifndef GPUBPF_WORKER_IN_FORK_H
#define GPUBPF_WORKER_IN_FORK_H

/*
 * Calls fn in a fork and waits until the fork ends. Stores the wait status of waitpid() in *status; the exit status in
 * it is the result of fn. Returns 0 or -errno.
 */
int gpubpf_in_fork(int (*fn)(void *arg), void *arg, int *status);

#endif
