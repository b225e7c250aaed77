/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes jobs and results as bytes with the codec of core/wire/fields.h. Decoded arrays and strings are in the codec's
 * pool. */
#ifndef GPUBPF_WORKER_CODEC_H
#define GPUBPF_WORKER_CODEC_H

#include "core/target.h"
#include "core/model/diag.h"
#include "core/wire/fields.h"
#include "core/wire/pool.h"
#include "core/wire/wire.h"
#include "job.h"

/* version of the encoding, part of the key of cached results: increase it with every change */
#define GPUBPF_JOB_VERSION 14

/* A request to a worker; members that the kind does not use are zero. */
struct gpubpf_job_request {
	enum gpubpf_job_kind kind;
	char target[16];
	struct gpubpf_target_opts opts;
	struct gpubpf_image image;       /* INSPECT, INJECT, QUERY. If the image has a digest, the request omits
						* its data, and the worker uses the last packet of
						* type GPUBPF_JOB_IMAGE */
	struct gpubpf_device_caps caps;  /* INSPECT, BUILD, QUERY */
	struct gpubpf_lower_job job;     /* EMIT, INJECT */
	struct gpubpf_twin_image pieces; /* BUILD */
};

struct gpubpf_result {
	enum gpubpf_job_kind kind;
	int32_t status; /* 0 or -errno; after an error only diag and log follow */
	struct gpubpf_diag diag;
	struct gpubpf_blob blob;            /* EMIT */
	struct gpubpf_kernel_info *kernels; /* INSPECT */
	uint32_t nkernels;
	struct gpubpf_twin_image twin; /* INJECT, BUILD, QUERY */
	const char *log;               /* BUILD; never NULL after reading */
};

/* Appends to *w. 0, or -ENOMEM, or -EINVAL if the structure cannot be encoded. */
int gpubpf_job_request_encode(const struct gpubpf_job_request *req, struct gpubpf_writer *w);
int gpubpf_result_encode(const struct gpubpf_result *res, struct gpubpf_writer *w);
/* Decode. All decoded data is in the pool or points into `data`, so `data` must outlive the decoded structure. 0 or
 * -EBADMSG. */
int gpubpf_job_request_decode(const void *data, size_t size, struct gpubpf_pool *pool, struct gpubpf_job_request *req);
int gpubpf_result_decode(const void *data, size_t size, struct gpubpf_pool *pool, struct gpubpf_result *res);

/* -- functions that codec.c and codec_job.c share -- */
/* Codes a string. NULL is written as "", and reading returns "" for it. */
void gpubpf_codec_text(struct gpubpf_codec *c, const char **s);
void gpubpf_codec_bytes(struct gpubpf_codec *c, const void **data, size_t *size);
/*
 * Codes the count of an array whose elements take at least `least` bytes. Reading also allocates n * size zeroed bytes
 * in the pool. Returns the array in both directions.
 */
void *gpubpf_codec_array(struct gpubpf_codec *c, const void *array, uint32_t *n, size_t size, size_t least);
void gpubpf_codec_job(struct gpubpf_codec *c, struct gpubpf_lower_job *job); /* codec_job.c */
void gpubpf_codec_params(struct gpubpf_codec *c, struct gpubpf_param **params, uint32_t *n);

#endif
