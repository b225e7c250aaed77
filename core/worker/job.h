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
 * compiles and links both pieces into a binary. SPIR-V: gpubpf-compile's target "spirv" inspects and injects, then
 * gpubpf-build builds the binary.
 *
 * gpubpf-clread reads files of -I folders, which the cache's key does not cover, so its worker must have no cache
 * folder. A GPU's driver may reserve more address space than any limit allows: pass memory UINT64_MAX for its
 * GPUBPF_WORKER_BUILD.
 */
#ifndef GPUBPF_WORKER_JOB_H
#define GPUBPF_WORKER_JOB_H

#include "core/target.h"

enum gpubpf_job_kind {
	GPUBPF_JOB_EMIT = 1,    /* target, lower job -> blob (prog dump, conformance) */
	GPUBPF_JOB_INSPECT = 2, /* target, image -> kernels */
	GPUBPF_JOB_INJECT = 3,  /* target, image, lower job -> twin pieces */
	GPUBPF_JOB_BUILD = 4,   /* a vendor's compiler or assembler: device name, pieces, options -> vendor binary */
	GPUBPF_JOB_QUERY = 5,   /* target, image -> a query: a piece that the caller passes to BUILD before the target
				  * reads the image; or no piece */
};

struct gpubpf_worker; /* a worker, whose process starts with the first job */

struct gpubpf_worker_opts {
	enum gpubpf_worker_kind kind; /* which program, found by gpubpf_worker_find() */
	const char *path;             /* NULL, or the path of a program to run instead */
	uint32_t timeout_ms;          /* limit for one job; 0: 60,000 */
	uint64_t memory;              /* bytes of address space; 0: 4 GiB */
	const char *cache_dir;        /* NULL: no cache on disk */
	bool one_job;                 /* a new process for each job */
};

int gpubpf_worker_create(const struct gpubpf_worker_opts *opts, struct gpubpf_worker **worker);
void gpubpf_worker_destroy(struct gpubpf_worker *worker);
/* Adds the hits and misses of the worker's cache on disk to *hits and *misses. */
void gpubpf_worker_cache_use(const struct gpubpf_worker *worker, uint64_t *hits, uint64_t *misses);
/*
 * Applies to all workers of this process. `keep` true: when a worker is cancelled, its idle process stays and serves
 * the next worker with the same program and limits. Callers that open one session after another need this. `keep`
 * false: ends the idle processes, and stores no more.
 */
void gpubpf_workers_reuse(bool keep);
/* From any thread: ends the process now. A job in flight, and every later one, returns -ECANCELED. */
void gpubpf_worker_cancel(struct gpubpf_worker *worker);
/* Frees the result of an inject job. */
void gpubpf_twin_image_finish(struct gpubpf_twin_image *image);

/*
 * Runs a job. 0, or -errno and a diagnostic: -ETIMEDOUT, -EPIPE when the worker died (the next job restarts it),
 * -EINVAL when it refused the job. Thread-safe; jobs of one worker run one after the other.
 */
int gpubpf_worker_emit(struct gpubpf_worker *worker, const char *target, const struct gpubpf_lower_job *job,
		       const struct gpubpf_target_opts *opts, struct gpubpf_blob *out, struct gpubpf_diag *diag);
int gpubpf_worker_inspect(struct gpubpf_worker *worker, const char *target, const struct gpubpf_image *image,
			  const struct gpubpf_device_caps *caps, struct gpubpf_kernel_info **kernels,
			  uint32_t *nkernels, struct gpubpf_diag *diag);
/*
 * Only for targets with `queries` (struct gpubpf_target_info). *out is a query for GPUBPF_WORKER_BUILD, whose answer
 * becomes image->answer. If *out has no pieces, the image needs no query.
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
			const struct gpubpf_twin_image *pieces, struct gpubpf_twin_image *out, char *log,
			size_t log_size, struct gpubpf_diag *diag);

#endif
