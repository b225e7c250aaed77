/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_WORKER_SPAWN_H
#define GPUBPF_WORKER_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GPUBPF_WORKER_FD 3 /* descriptor number of the socket in the worker */

/* Stores a text that identifies the build of a program: path, size and modification time. */
void gpubpf_worker_identity(const char *path, char *buf, size_t size);
/*
 * Returns a copy of the environment without variables that would load other code into a worker (LD_PRELOAD, OpenCL
 * layers). The caller frees the array but not the strings. Returns NULL if memory runs out.
 */
char **gpubpf_worker_environ(void);
/*
 * Starts the program with the environment gpubpf_worker_environ(). Its descriptor 3 is a socket, and it has no
 * descriptors above 3. `memory` is the limit of its address space in bytes (UINT64_MAX: no limit). If
 * `is_quiet` is set, its standard error is /dev/null. Returns 0 or -errno.
 */
int gpubpf_worker_spawn(const char *path, uint64_t memory, bool is_quiet, pid_t *pid, int *sock);
/*
 * Kills the worker's process and all processes that it started, which are in one process group. Returns its wait
 * status.
 */
int gpubpf_worker_end(pid_t pid);

#endif
