/* SPDX-License-Identifier: Apache-2.0 */
/* Idle processes of cancelled workers, which later workers can use (gpubpf_workers_reuse() in job.h). */
#ifndef GPUBPF_WORKER_SPARE_H
#define GPUBPF_WORKER_SPARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct gpubpf_spare {
	pid_t pid;
	int sock;
	uint32_t jobs;   /* number of jobs that the process has run */
	uint64_t memory; /* limit of the process's address space in bytes */
	const char *path;
};

/*
 * Stores the process, and a copy of its path. If it returns false, the process was not stored, and the caller still
 * owns it.
 */
bool gpubpf_spare_store(const struct gpubpf_spare *spare);
/*
 * Takes a stored process with the path spare->path and the limit spare->memory, and sets the other members. Returns
 * false if there is none.
 */
bool gpubpf_spare_take(struct gpubpf_spare *spare);

#endif
