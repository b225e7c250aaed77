/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs for workers (enum gpubpf_worker_kind). The tool sends one job at a time over a socketpair and receives one
 * result. Packets have the header of core/wire/protocol.h and the encoding of core/wire/wire.h; images are memfds. A
 * worker is a sandboxed child process of the tool, with limits of memory and time. Its process starts with the first
 * job, and starts again if it dies. Results are cached by the SHA-256 of the job (core/worker/result_cache.c).
 *
 * An OpenCL program needs two or three workers:
 * 1. For source (OPENCL_C, OPENCL_PARTS), gpubpf-clread inspects it with the target "wrap". For SPIR-V, gpubpf-compile
 * inspects it with the target "spirv".
 * 2. For source, gpubpf-compile (target "spirv") or gpubpf-clread (target "clc") emits the sites of the job. Then
 * gpubpf-clread injects: it returns the wrapped source as OPENCL_PARTS. This source and the emitted sites are the
 * two pieces of the twin. For SPIR-V, gpubpf-compile injects.
 * 3. gpubpf-build compiles and links the pieces into a binary.
 *
 * gpubpf-clread reads files in the folders of -I options, which are not part of the cache's key. Therefore its worker
 * must have no cache folder, or the option reads_files. A GPU's driver may reserve more address space than any limit
 * allows. Therefore GPUBPF_WORKER_BUILD needs the memory limit UINT64_MAX for a GPU.
 */
#ifndef GPUBPF_WORKER_JOB_H
#define GPUBPF_WORKER_JOB_H

#include "core/target.h"

enum gpubpf_job_kind {
	GPUBPF_JOB_EMIT = 1,    /* target, job -> blob (for `prog dump` and conformance tests) */
	GPUBPF_JOB_INSPECT = 2, /* target, image -> kernels */
	GPUBPF_JOB_INJECT = 3,  /* target, image, job -> pieces of the twin */
	GPUBPF_JOB_BUILD = 4,   /* run the vendor's compiler: device name, pieces, options -> vendor's binary */
	/*
	 * target, image -> a query as a piece, or no piece; the caller passes the query to BUILD before the target
	 * reads the image
	 */
	GPUBPF_JOB_QUERY = 5,
	GPUBPF_JOB_ASSEMBLE = 6, /* run the user's assembler: its path and options, PTX -> machine code, log */
};
#define GPUBPF_JOB_LAST GPUBPF_JOB_ASSEMBLE

struct gpubpf_worker; /* a worker; its process starts with the first job */

struct gpubpf_worker_opts {
	enum gpubpf_worker_kind kind; /* the worker program, which gpubpf_worker_find() finds */
	const char *path;             /* path of a program to run instead, or NULL */
	uint32_t timeout_ms;          /* maximum time of one job in ms; 0: 60,000 */
	uint64_t memory;              /* limit of the address space in bytes; 0: 4 GiB */
	const char *cache_dir;        /* folder of the result cache; NULL: no cache on disk */
	bool one_job;                 /* start a new process for each job */
	/*
	 * The worker reads files that options and source name, for example gpubpf-clread. Results are cached only if the
	 * source has no such name.
	 */
	bool reads_files;
	/*
	 * When the worker is cancelled, leave the job that runs to another process, which stores its result in the cache.
	 * Equal jobs of such workers run one after the other, also in different processes. The worker's standard error is
	 * /dev/null.
	 */
	bool leaves;
};

int gpubpf_worker_create(const struct gpubpf_worker_opts *opts, struct gpubpf_worker **worker);
void gpubpf_worker_destroy(struct gpubpf_worker *worker);
/* Adds the numbers of hits and misses of the worker's result cache to *hits and *misses. */
void gpubpf_worker_cache_use(const struct gpubpf_worker *worker, uint64_t *hits, uint64_t *misses);
/*
 * Sets whether idle processes of cancelled workers are kept, for all workers of this process. If `keep` is true, a
 * later worker with the same program and memory limit uses such a process. Applications that open several sessions, one
 * after another, need this. If `keep` is false, the function ends the kept processes, and no more are kept.
 */
void gpubpf_workers_reuse(bool keep);
/*
 * Ends the worker's process at once, unless it leaves its job. May be called from any thread. The current job and all later jobs return
 * -ECANCELED.
 */
void gpubpf_worker_cancel(struct gpubpf_worker *worker);
/* Frees the pieces and lists of a twin image, the result of an inject job. */
void gpubpf_twin_image_finish(struct gpubpf_twin_image *image);

/*
 * The functions below run one job. They return 0, or -errno with a diagnostic: -ETIMEDOUT, -EPIPE if the process died
 * (the next job starts a new one), -EINVAL if the worker refused the job. They are thread-safe; jobs of one worker run
 * one after the other.
 */
int gpubpf_worker_emit(struct gpubpf_worker *worker, const char *target, const struct gpubpf_lower_job *job,
		       const struct gpubpf_target_opts *opts, struct gpubpf_blob *out, struct gpubpf_diag *diag);
int gpubpf_worker_inspect(struct gpubpf_worker *worker, const char *target, const struct gpubpf_image *image,
			  const struct gpubpf_device_caps *caps, struct gpubpf_kernel_info **kernels,
			  uint32_t *nkernels, struct gpubpf_diag *diag);
/*
 * Only for targets whose route has the stage "query". Stores a query in *out. The caller passes the query to
 * GPUBPF_WORKER_BUILD, and the answer becomes image->answer. If *out has no pieces, the image needs no query.
 */
int gpubpf_worker_query(struct gpubpf_worker *worker, const char *target, const struct gpubpf_image *image,
			const struct gpubpf_device_caps *caps, struct gpubpf_twin_image *out, struct gpubpf_diag *diag);
int gpubpf_worker_inject(struct gpubpf_worker *worker, const char *target, const struct gpubpf_image *image,
			 const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts,
			 struct gpubpf_twin_image *out, struct gpubpf_diag *diag);
/*
 * Builds the pieces with the vendor's compiler, in a separate process. The result *out has one piece, the binary that
 * the application loads. It also lists the twins that the compiler rejected.
 */
int gpubpf_worker_build(struct gpubpf_worker *builder, const struct gpubpf_device_caps *caps,
			const struct gpubpf_twin_image *pieces, struct gpubpf_twin_image *out, char *log,
			size_t log_size, struct gpubpf_diag *diag);
/*
 * Runs the user's assembler in a separate process. The result *out has one piece of machine code. It has no pieces if
 * only the assembler's version was requested. It also has no pieces if the assembler rejects the text; another attempt
 * would then fail again.
 */
int gpubpf_worker_assemble(struct gpubpf_worker *starter, const struct gpubpf_assembly *what,
			   struct gpubpf_twin_image *out, char *log, size_t log_size, struct gpubpf_diag *diag);

#endif
