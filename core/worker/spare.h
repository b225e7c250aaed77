/* SPDX-License-Identifier: Apache-2.0 */
/* Idle processes of cancelled workers, for reuse by later workers (gpubpf_workers_reuse() in job.h). */
#ifndef GPUBPF_WORKER_SPARE_H
#define GPUBPF_WORKER_SPARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct gpubpf_spare {
	pid_t pid;
	int sock;
	uint32_t jobs;   /* jobs that it has run */
	uint64_t memory; /* limit of its address space, in bytes */
	const char *path;
};

/* Stores the process, and copies its path. False: it was not stored, and the caller still owns it. */
bool gpubpf_spare_store(const struct gpubpf_spare *spare);
/* Takes a stored process with spare->path and spare->memory, and fills in the other members. False: there is none. */
bool gpubpf_spare_take(struct gpubpf_spare *spare);

#endif
