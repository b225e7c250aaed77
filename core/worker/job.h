/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tool asks of its workers (enum gpubpf_worker_kind): one job in, one result out, over a socketpair with the
 * header of core/wire/protocol.h and the encoding of core/wire/wire.h; images as memfds. A worker is a child of
 * the tool, sandboxed (seccomp, no new privileges, limits of memory and time), started on demand, and
 * restarted when it dies. Results are cached by the SHA-256 of the job (core/worker/result_cache.c).
 *
 * An OpenCL program goes through two or three workers. Source (OPENCL_C, OPENCL_PARTS): gpubpf-clread, target
 * "wrap", inspects it and injects, which gives one piece, the wrapped source as OPENCL_PARTS; the same job's sites
 * are emitted for "spirv" by gpubpf-compile or for "clc" by gpubpf-clread, appended as the second piece;
 * gpubpf-build makes the binary of both. IL: gpubpf-compile's target "spirv" inspects and injects, then
 * gpubpf-build. (clread reads what -I names: give its worker no cache folder. A vendor's driver may
 * reserve more address space than any limit allows: give the builder memory UINT64_MAX on GPUs.)
 */
#ifndef GPUBPF_WORKER_JOB_H
#define GPUBPF_WORKER_JOB_H

#include "core/target.h"

enum gpubpf_job_kind {
	GPUBPF_JOB_EMIT = 1,     /* target, lower job -> blob (prog dump, conformance) */
	GPUBPF_JOB_INSPECT = 2,  /* target, image -> kernels */
	GPUBPF_JOB_INJECT = 3,   /* target, image, lower job -> twin pieces */
	GPUBPF_JOB_BUILD = 4,    /* a vendor's compiler or assembler: device name, pieces, options -> vendor binary */
	GPUBPF_JOB_QUERY = 5,    /* target, image -> a piece that BUILD answers before the image is read, or none */
};

struct gpubpf_worker;        /* a worker or builder process, started lazily */

struct gpubpf_worker_opts {
	enum gpubpf_worker_kind kind; /* which program, as gpubpf_worker_find() finds it; */
	const char *path;        /* not NULL: this one */
	uint32_t timeout_ms;     /* of one job; 0: 60,000 */
	uint64_t memory;         /* bytes of address space; 0: 4 GiB */
	const char *cache_dir;   /* NULL: no cache on disk */
	bool one_job;            /* a new process for each job */
};

int gpubpf_worker_create(const struct gpubpf_worker_opts *opts, struct gpubpf_worker **worker);
void gpubpf_worker_destroy(struct gpubpf_worker *worker);
/* Add what its cache on disk has answered so far, and what it had not. */
void gpubpf_worker_cache_use(const struct gpubpf_worker *worker, uint64_t *hits, uint64_t *misses);
/* From now on a process that has no job when its worker is cancelled serves this process's next worker of that program and
 * limits: for what opens one session after the other. `keep` false: no more, and those that wait are ended. */
void gpubpf_workers_keep(bool keep);
/* From any thread: end the process now; a job in flight, and every later one, answers -ECANCELED. */
void gpubpf_worker_cancel(struct gpubpf_worker *worker);
/* Free what an inject job handed out. */
void gpubpf_twin_image_finish(struct gpubpf_twin_image *image);

/* Run a job. 0, or -errno and a diagnostic: -ETIMEDOUT, -EPIPE when the worker died (it is restarted by
 * the next job), -EINVAL when it refused. Thread-safe; jobs of one worker run one after the other. */
int gpubpf_worker_emit(struct gpubpf_worker *worker, const char *target, const struct gpubpf_lower_job *job,
		       const struct gpubpf_target_opts *opts, struct gpubpf_blob *out, struct gpubpf_diag *diag);
int gpubpf_worker_inspect(struct gpubpf_worker *worker, const char *target, const struct gpubpf_image *image,
			  const struct gpubpf_device_caps *caps, struct gpubpf_kernel_info **kernels,
			  uint32_t *nkernels, struct gpubpf_diag *diag);
/* *out is a query that GPUBPF_WORKER_BUILD answers for image->answer; without pieces there is none. Where info.queries. */
int gpubpf_worker_query(struct gpubpf_worker *worker, const char *target, const struct gpubpf_image *image,
			const struct gpubpf_device_caps *caps, struct gpubpf_twin_image *out, struct gpubpf_diag *diag);
int gpubpf_worker_inject(struct gpubpf_worker *worker, const char *target, const struct gpubpf_image *image,
			 const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts,
			 struct gpubpf_twin_image *out, struct gpubpf_diag *diag);
/* Let the vendor build the pieces in a process of its own; *out has one piece, the binary that the
 * application loads, and refuses the twins that the vendor's compiler does not take. */
int gpubpf_worker_build(struct gpubpf_worker *builder, const struct gpubpf_device_caps *caps,
			const struct gpubpf_twin_image *pieces, struct gpubpf_twin_image *out,
			char *log, size_t log_size, struct gpubpf_diag *diag);

#endif
