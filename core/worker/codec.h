/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes jobs and results of workers as bytes, with the codec of core/wire/fields.h. Decoded arrays and strings are
 * allocated in the codec's pool.
 */
#ifndef GPUBPF_WORKER_CODEC_H
#define GPUBPF_WORKER_CODEC_H

#include "core/target.h"
#include "core/model/diag.h"
#include "core/wire/fields.h"
#include "core/wire/pool.h"
#include "core/wire/wire.h"
#include "job.h"

/*
 * Version of the encoding, which is part of the key of cached results. Increase it with every change of the encoding.
 */
#define GPUBPF_JOB_VERSION 15

/* A request to a worker. Members that its kind does not use are zero. */
struct gpubpf_job_request {
	enum gpubpf_job_kind kind;
	char target[16];
	struct gpubpf_target_opts opts;
	/*
	 * INSPECT, INJECT, QUERY. If `digest` is set, the request does not contain the data; the worker uses the image
	 * of the last packet GPUBPF_JOB_IMAGE.
	 */
	struct gpubpf_image image;
	struct gpubpf_device_caps caps;  /* INSPECT, BUILD, QUERY */
	struct gpubpf_lower_job job;     /* EMIT, INJECT */
	struct gpubpf_twin_image pieces; /* BUILD */
	struct gpubpf_assembly assembly; /* ASSEMBLE */
};

struct gpubpf_result {
	enum gpubpf_job_kind kind;
	int32_t status; /* 0 or -errno; after an error, only diag, log and dump are sent */
	struct gpubpf_diag diag;
	struct gpubpf_blob blob;            /* EMIT */
	struct gpubpf_kernel_info *kernels; /* INSPECT */
	uint32_t nkernels;
	struct gpubpf_twin_image twin; /* INJECT, BUILD, QUERY, ASSEMBLE */
	struct gpubpf_blob dump;       /* EMIT, INJECT: the code after the pass opts.after, also if the job failed */
	const char *log;               /* BUILD, ASSEMBLE; not NULL in a decoded result */
};

/* Append the encoded structure to *w. Return 0, -ENOMEM, or -EINVAL if the structure cannot be encoded. */
int gpubpf_job_request_encode(const struct gpubpf_job_request *req, struct gpubpf_writer *w);
int gpubpf_result_encode(const struct gpubpf_result *res, struct gpubpf_writer *w);
/* Decode a structure. It refers to the pool and to `data`, which must outlive it. Return 0 or -EBADMSG. */
int gpubpf_job_request_decode(const void *data, size_t size, struct gpubpf_pool *pool, struct gpubpf_job_request *req);
int gpubpf_result_decode(const void *data, size_t size, struct gpubpf_pool *pool, struct gpubpf_result *res);

/* -- functions that codec.c and codec_job.c share -- */
/* Writes or reads a string. NULL is written as "", and read as "". */
void gpubpf_codec_text(struct gpubpf_codec *c, const char **s);
void gpubpf_codec_bytes(struct gpubpf_codec *c, const void **data, size_t *size);
/*
 * Writes or reads the number of elements of an array; each element is encoded in at least `least` bytes. When reading,
 * also allocates *n elements of `size` zeroed bytes in the pool. Returns the array, when writing and when reading.
 */
void *gpubpf_codec_array(struct gpubpf_codec *c, const void *array, uint32_t *n, size_t size, size_t least);
void gpubpf_codec_job(struct gpubpf_codec *c, struct gpubpf_lower_job *job); /* codec_job.c */
void gpubpf_codec_params(struct gpubpf_codec *c, struct gpubpf_param **params, uint32_t *n);

#endif
