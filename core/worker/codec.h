/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs and results as bytes. One description serves both directions: a codec either writes what the
 * structure holds or reads into it, so the two cannot drift apart. Writing changes nothing of the structure. Reading trusts nothing: every length,
 * index and enumeration is checked, and what does not fit makes the codec fail; the structure is then
 * incomplete and must not be used.
 */
#ifndef GPUBPF_WORKER_CODEC_H
#define GPUBPF_WORKER_CODEC_H

#include "core/target.h"
#include "core/diag.h"
#include "core/wire/pool.h"
#include "core/wire/wire.h"
#include "job.h"

/* Raised with every change of the encoding; part of the cache's key. */
#define GPUBPF_JOB_VERSION 2

struct gpubpf_codec {
	struct gpubpf_writer *w;   /* writing; NULL: reading */
	struct gpubpf_reader r;
	struct gpubpf_pool *pool;  /* reading: where arrays and strings go */
	bool failed;
};

/* what a worker is asked; the members that the kind does not use are zero */
struct gpubpf_request {
	enum gpubpf_job_kind kind;
	char target[16];
	struct gpubpf_target_opts opts;
	struct gpubpf_image image;             /* INSPECT, INJECT */
	struct gpubpf_device_caps caps;        /* INSPECT, BUILD */
	struct gpubpf_lower_job job;           /* EMIT, INJECT */
	struct gpubpf_twin_image pieces;       /* BUILD */
};

struct gpubpf_result {
	enum gpubpf_job_kind kind;
	int32_t status;                        /* 0 or -errno; then only diag and log follow */
	struct gpubpf_diag diag;
	struct gpubpf_blob blob;               /* EMIT */
	struct gpubpf_kernel_info *kernels;    /* INSPECT */
	uint32_t nkernels;
	struct gpubpf_twin_image twin;         /* INJECT, BUILD */
	const char *log;                       /* BUILD; never NULL after reading */
};

/* Append to *w. 0, or -ENOMEM, or -EINVAL if the structure holds what cannot be sent. */
int gpubpf_request_encode(const struct gpubpf_request *req, struct gpubpf_writer *w);
int gpubpf_result_encode(const struct gpubpf_result *res, struct gpubpf_writer *w);
/* Everything that is read lies in the pool or points into data, which must outlive it. 0 or -EBADMSG. */
int gpubpf_request_decode(const void *data, size_t size, struct gpubpf_pool *pool, struct gpubpf_request *req);
int gpubpf_result_decode(const void *data, size_t size, struct gpubpf_pool *pool, struct gpubpf_result *res);

/* the pieces that both files of the codec use */
void gpubpf_codec_u8(struct gpubpf_codec *c, uint8_t *v);
void gpubpf_codec_u16(struct gpubpf_codec *c, uint16_t *v);
void gpubpf_codec_u32(struct gpubpf_codec *c, uint32_t *v);
void gpubpf_codec_u64(struct gpubpf_codec *c, uint64_t *v);
void gpubpf_codec_s16(struct gpubpf_codec *c, int16_t *v);
void gpubpf_codec_s32(struct gpubpf_codec *c, int32_t *v);
void gpubpf_codec_bool(struct gpubpf_codec *c, bool *v);
/* a number below limit; returns it */
uint32_t gpubpf_codec_below(struct gpubpf_codec *c, uint32_t v, uint32_t limit);
#define GPUBPF_CODEC_ENUM(c, v, limit)                                \
	do {                                                          \
		uint32_t got_ = gpubpf_codec_below((c), (v), (limit)); \
		if (!(c)->w)                                          \
			(v) = got_;                                   \
	} while (0)
void gpubpf_codec_str(struct gpubpf_codec *c, char *buf, size_t size);
/* NULL is sent as "" and arrives as "" */
void gpubpf_codec_text(struct gpubpf_codec *c, const char **s);
void gpubpf_codec_bytes(struct gpubpf_codec *c, const void **data, size_t *size);
/* The count of an array whose elements take at least `least` bytes; reading also allocates it, zeroed,
 * n * size bytes in the pool. Returns the array, writing or reading. */
void *gpubpf_codec_array(struct gpubpf_codec *c, const void *array, uint32_t *n, size_t size, size_t least);
/* Reading: fail unless `ok`. */
void gpubpf_codec_check(struct gpubpf_codec *c, bool ok);

void gpubpf_codec_job(struct gpubpf_codec *c, struct gpubpf_lower_job *job); /* codec_job.c */
void gpubpf_codec_caps(struct gpubpf_codec *c, struct gpubpf_device_caps *caps);
void gpubpf_codec_params(struct gpubpf_codec *c, struct gpubpf_param **params, uint32_t *n);

#endif
