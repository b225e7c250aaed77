/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the idle processes of cancelled workers, so that later workers can use them. */
#include "spare.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "job.h"
#include "spawn.h"

#define MAX_SPARES 16
/* a process that has run this number of jobs is not kept, because vendors' compilers leak memory with each job */
#define MAX_SPARE_JOBS 100

struct spare {
	/*
	 * - pid: the idle process.
	 * - owner: the process that stored it. A fork of the owner must not use it.
	 */
	pid_t owner, pid;
	int sock;
	uint32_t jobs;
	uint64_t memory;
	char path[PATH_MAX];
};

static struct {
	pthread_mutex_t lock;
	bool keep;
	uint32_t n;
	struct spare spare[MAX_SPARES];
} spares = { .lock = PTHREAD_MUTEX_INITIALIZER };

bool gpubpf_spare_store(const struct gpubpf_spare *spare)
{
	bool stored;

	pthread_mutex_lock(&spares.lock);
	stored = spares.keep && spares.n < MAX_SPARES && spare->jobs < MAX_SPARE_JOBS;
	if (stored) {
		struct spare *s = &spares.spare[spares.n++];

		*s = (struct spare){ getpid(), spare->pid, spare->sock, spare->jobs, spare->memory, "" };
		memcpy(s->path, spare->path, strlen(spare->path) + 1);
	}
	pthread_mutex_unlock(&spares.lock);
	return stored;
}

bool gpubpf_spare_take(struct gpubpf_spare *spare)
{
	uint32_t i = 0;
	bool found;

	pthread_mutex_lock(&spares.lock);
	while (i < spares.n && (spares.spare[i].owner != getpid() || spares.spare[i].memory != spare->memory ||
				strcmp(spares.spare[i].path, spare->path)))
		i++;
	found = i < spares.n;
	if (found) {
		spare->pid = spares.spare[i].pid;
		spare->sock = spares.spare[i].sock;
		spare->jobs = spares.spare[i].jobs;
		spares.spare[i] = spares.spare[--spares.n];
	}
	pthread_mutex_unlock(&spares.lock);
	return found;
}

void gpubpf_workers_reuse(bool keep)
{
	pthread_mutex_lock(&spares.lock);
	spares.keep = keep;
	while (!keep && spares.n) {
		struct spare *s = &spares.spare[--spares.n];

		close(s->sock);
		if (s->owner == getpid())
			gpubpf_worker_end(s->pid);
	}
	pthread_mutex_unlock(&spares.lock);
}
