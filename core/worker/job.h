/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs for workers (enum gpubpf_worker_kind): one job in, one result out, over a socketpair with the header of
 * core/wire/protocol.h and the encoding of core/wire/wire.h; images are memfds. A worker is a child of the tool,
 * sandboxed (seccomp, no new privileges, limits of memory and time), started on demand, and restarted when it dies.
 * Results are cached by the SHA-256 of the job (core/worker/result_cache.c).
 *
 * An OpenCL program passes two or three workers. Source (OPENCL_C, OPENCL_PARTS): gpubpf-clread, target "wrap",
 * inspects it and injects, which returns one piece, the wrapped source as OPENCL_PARTS. The same job's sites are
 * emitted for "spirv" by gpubpf-compile or for "clc" by gpubpf-clread, and appended as the second piece. gpubpf-build
 * makes the binary of both. IL: gpubpf-compile's target "spirv" inspects and injects, then gpubpf-build.
 *
 * clread reads files of -I folders, so its worker must have no cache folder. A vendor's driver may reserve more address
 * space than any limit allows: pass memory UINT64_MAX for the builder on GPUs.
 */
#ifndef GPUBPF_WORKER_JOB_H
#define GPUBPF_WORKER_JOB_H

#include "core/target.h"

enum gpubpf_job_kind {
	GPUBPF_JOB_EMIT = 1,     /* target, lower job -> blob (prog dump, conformance) */
	GPUBPF_JOB_INSPECT = 2,  /* target, image -> kernels */
	GPUBPF_JOB_INJECT = 3,   /* target, image, lower job -> twin pieces */
	GPUBPF_JOB_BUILD = 4,    /* a vendor's compiler or assembler: device name, pieces, options -> vendor binary */
	GPUBPF_JOB_QUERY = 5,    /* target, image -> a piece that BUILD must answer before the image is read, or none */
};

struct gpubpf_worker;        /* a worker or builder process, started lazily */

struct gpubpf_worker_opts {
	enum gpubpf_worker_kind kind; /* the program, located by gpubpf_worker_find(); */
	const char *path;        /* not NULL: this program instead */
	uint32_t timeout_ms;     /* of one job; 0: 60,000 */
	uint64_t memory;         /* bytes of address space; 0: 4 GiB */
	const char *cache_dir;   /* NULL: no cache on disk */
	bool one_job;            /* a new process for each job */
};

int gpubpf_worker_create(const struct gpubpf_worker_opts *opts, struct gpubpf_worker **worker);
void gpubpf_worker_destroy(struct gpubpf_worker *worker);
/* Adds the hits and misses of its cache on disk. */
void gpubpf_worker_cache_use(const struct gpubpf_worker *worker, uint64_t *hits, uint64_t *misses);
/*
 * keep: from now on an idle process of a cancelled worker serves the next worker of the same program and limits in this
 * process. Useful to callers that open one session after another. `keep` false: stops this and ends the waiting
 * processes.
 */
void gpubpf_workers_reuse(bool keep);
/* From any thread: ends the process now. A job in flight, and every later one, returns -ECANCELED. */
void gpubpf_worker_cancel(struct gpubpf_worker *worker);
/* Frees the result of an inject job. */
void gpubpf_twin_image_finish(struct gpubpf_twin_image *image);

/*
 * Runs a job. 0, or -errno and a diagnostic: -ETIMEDOUT, -EPIPE when the worker died (the next job restarts it),
 * -EINVAL when it refused. Thread-safe; jobs of one worker run one after the other.
 */
int gpubpf_worker_emit(struct gpubpf_worker *worker, const char *target, const struct gpubpf_lower_job *job,
		       const struct gpubpf_target_opts *opts, struct gpubpf_blob *out, struct gpubpf_diag *diag);
int gpubpf_worker_inspect(struct gpubpf_worker *worker, const char *target, const struct gpubpf_image *image,
			  const struct gpubpf_device_caps *caps, struct gpubpf_kernel_info **kernels,
			  uint32_t *nkernels, struct gpubpf_diag *diag);
/*
 * *out is a query whose answer by GPUBPF_WORKER_BUILD becomes image->answer; without pieces there is no query. If
 * info.queries.
 */
int gpubpf_worker_query(struct gpubpf_worker *worker, const char *target, const struct gpubpf_image *image,
			const struct gpubpf_device_caps *caps, struct gpubpf_twin_image *out, struct gpubpf_diag *diag);
int gpubpf_worker_inject(struct gpubpf_worker *worker, const char *target, const struct gpubpf_image *image,
			 const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts,
			 struct gpubpf_twin_image *out, struct gpubpf_diag *diag);
/*
 * The vendor's compiler builds the pieces in a separate process. *out has one piece, the binary that the application
 * loads, and refuses the twins that the compiler rejects.
 */
int gpubpf_worker_build(struct gpubpf_worker *builder, const struct gpubpf_device_caps *caps,
			const struct gpubpf_twin_image *pieces, struct gpubpf_twin_image *out,
			char *log, size_t log_size, struct gpubpf_diag *diag);

#endif
