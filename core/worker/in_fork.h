/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work in a copy of the process, which is quicker to have than a new one: what it spoils or dies of is the copy's. It
 * has the time that is left to this process (alarm(2)), and ends with its process group.
 */
#ifndef GPUBPF_WORKER_IN_FORK_H
#define GPUBPF_WORKER_IN_FORK_H

/* Call fn in a copy and wait for its end: *status as waitpid() gives it, fn's value is the exit status. 0 or -errno. */
int gpubpf_in_fork(int (*fn)(void *arg), void *arg, int *status);

#endif
