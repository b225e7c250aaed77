/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_WORKER_SPAWN_H
#define GPUBPF_WORKER_SPAWN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GPUBPF_WORKER_FD 3 /* where a worker finds its socket */

/* What tells one build of a program from another: path, size, time of change. */
void gpubpf_worker_identity(const char *path, char *buf, size_t size);
/* Our environment without what would put other code into our processes (LD_PRELOAD, layers); to be freed. NULL: no memory. */
char **gpubpf_worker_environ(void);
/* Start it with that environment, its socket as descriptor 3, no other descriptors above 2, and `memory` bytes of address
 * space (UINT64_MAX: as much as it wants). 0 or -errno. */
int gpubpf_worker_spawn(const char *path, uint64_t memory, pid_t *pid, int *sock);

#endif
