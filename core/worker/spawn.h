/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_WORKER_SPAWN_H
#define GPUBPF_WORKER_SPAWN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GPUBPF_WORKER_FD 3 /* descriptor of a worker's socket */

/* Identifies a build of a program: path, size, modification time. */
void gpubpf_worker_identity(const char *path, char *buf, size_t size);
/*
 * Returns this process's environment without variables that would load other code into a worker (LD_PRELOAD, layers).
 * The caller frees it. NULL: no memory.
 */
char **gpubpf_worker_environ(void);
/*
 * Starts the program with gpubpf_worker_environ(), its socket as descriptor 3, no other descriptors above 2, and
 * `memory` bytes of address space (UINT64_MAX: unlimited). 0 or -errno.
 */
int gpubpf_worker_spawn(const char *path, uint64_t memory, pid_t *pid, int *sock);
/* Ends the process and all processes that it forked: the start put them into one group. Returns its wait status. */
int gpubpf_worker_end(pid_t pid);

#endif
