/* SPDX-License-Identifier: Apache-2.0 */
/* Idle processes of workers, kept for reuse by later workers (gpubpf_workers_reuse() in job.h). */
#ifndef GPUBPF_WORKER_SPARE_H
#define GPUBPF_WORKER_SPARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct gpubpf_spare {
	pid_t pid;
	int sock;
	uint32_t jobs;               /* jobs that it has run */
	uint64_t memory;             /* its limit of address space, and its program: */
	const char *path;
};

/* Keeps the process; path is copied. False: it cannot be kept, and stays the caller's. */
bool gpubpf_spare_store(const struct gpubpf_spare *spare);
/* Takes a kept process of that path and memory: fills in the other members. False: there is none. */
bool gpubpf_spare_take(struct gpubpf_spare *spare);

#endif
