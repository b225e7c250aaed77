/* SPDX-License-Identifier: Apache-2.0 */
/* Private to core/worker: the state of a worker, which the files of the client of jobs share. */
#ifndef GPUBPF_WORKER_WORKER_H
#define GPUBPF_WORKER_WORKER_H

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "codec.h"
#include "job.h"
#include "result_cache.h"
#include "transport.h"

struct gpubpf_worker {
	pthread_mutex_t lock;     /* held while a job runs, so that only one runs at a time */
	pthread_mutex_t pid_lock; /* protects pid; the process is not reaped while another thread sends it a signal */
	_Atomic bool cancelled;
	char path[PATH_MAX];
	char identity[PATH_MAX + 64];
	char cache_dir[PATH_MAX]; /* "" none */
	uint32_t timeout_ms;
	uint64_t memory;
	bool one_job;
	bool leaves;      /* gpubpf_worker_opts.leaves */
	bool reads_files; /* gpubpf_worker_opts.reads_files */
	pid_t pid;        /* 0: not running */
	bool busy;        /* the process runs a job; pid_lock protects busy and jobs */
	uint32_t jobs;    /* number of jobs that the process has started */
	/* valid if has_image is set: digest of the image that the process has received */
	uint8_t image_digest[GPUBPF_IMAGE_DIGEST];
	bool has_image;
	int sock;
	uint32_t seq;
	/* leave.c: lock of the job that runs, or -1; its key and kind. If it was left, another process owns `pid`. */
	int flight;
	uint8_t key[GPUBPF_RESULT_CACHE_KEY];
	enum gpubpf_job_kind kind;
	bool is_left;
	_Atomic uint64_t hits, misses; /* of the result cache on disk */
};

/* An answer from the worker or the cache. `res` points into the packet, the cached data or the pool. */
struct gpubpf_job_answer {
	struct gpubpf_job_packet packet; /* from the worker */
	void *cached;                    /* from the cache */
	struct gpubpf_pool pool;
	struct gpubpf_result res;
};

/* process.c: returns the last component of a path. */
const char *gpubpf_worker_base_name(const char *path);
/*
 * process.c: run the job in the worker's process. Returns 0 with a decoded answer, or -errno with a diagnostic. The
 * caller holds w->lock.
 */
int gpubpf_worker_run(struct gpubpf_worker *w, const struct gpubpf_job_request *req, const struct gpubpf_writer *bytes,
		      struct gpubpf_job_answer *a, struct gpubpf_diag *diag);
void gpubpf_worker_set_idle(struct gpubpf_worker *w);

/*
 * leave.c: jobs of equal keys run one after the other, so that a later job finds the result of an earlier one in the
 * cache. gpubpf_worker_begin_flight() waits until no other process runs a job with w->key. It returns false if there is
 * no such lock, after the worker's time limit, and if the worker is cancelled.
 */
bool gpubpf_worker_begin_flight(struct gpubpf_worker *w);
void gpubpf_worker_end_flight(struct gpubpf_worker *w);
/*
 * Leave the job that runs to a new process. It waits for the answer, stores it in the cache, and ends the worker's
 * process. Returns false if no job with a key runs, or if there is no such process. The caller holds w->pid_lock.
 */
bool gpubpf_worker_leave(struct gpubpf_worker *w);

#endif
