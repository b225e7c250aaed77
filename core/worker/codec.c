/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes and decodes requests and results of workers, and the strings, bytes and arrays in them. */
#include "codec.h"

#include <errno.h>
#include <string.h>

#define MAX_KERNELS (1u << 20)

void gpubpf_codec_text(struct gpubpf_codec *c, const char **s)
{
	const char *data;
	size_t n;

	if (c->w) {
		gpubpf_put_str(c->w, *s ? *s : "");
		return;
	}
	data = gpubpf_get_bytes(&c->r, &n);
	gpubpf_codec_check(c, data && !memchr(data, 0, n));
	*s = data && !c->failed ? gpubpf_pool_strndup(c->pool, data, n) : "";
	if (!*s)
		*s = "";
}

void gpubpf_codec_bytes(struct gpubpf_codec *c, const void **data, size_t *size)
{
	if (c->w)
		gpubpf_put_bytes(c->w, *data, *size);
	else
		*data = gpubpf_get_bytes(&c->r, size);
}

void *gpubpf_codec_array(struct gpubpf_codec *c, const void *array, uint32_t *n, size_t size, size_t least)
{
	void *made;

	if (c->w) {
		gpubpf_put_u32(c->w, *n);
		return (void *)array;
	}
	*n = gpubpf_get_count(&c->r, least);
	made = gpubpf_pool_alloc(c->pool, *n, size);
	if (!made) {
		c->failed = true;
		*n = 0;
	}
	return made;
}

void gpubpf_codec_params(struct gpubpf_codec *c, struct gpubpf_param **params, uint32_t *n)
{
	struct gpubpf_param *p = gpubpf_codec_array(c, *params, n, sizeof(*p), 24);

	if (!c->w)
		*params = p;
	for (uint32_t i = 0; i < *n; i++, p++) {
		gpubpf_codec_str(c, p->name, sizeof(p->name));
		gpubpf_codec_str(c, p->type, sizeof(p->type));
		GPUBPF_CODEC_ENUM(c, p->kind, GPUBPF_NPARAM_KINDS);
		gpubpf_codec_u32(c, &p->size);
		gpubpf_codec_u32(c, &p->align);
		gpubpf_codec_u32(c, &p->bytes_off);
	}
}

/* Writes or reads a SHA-256 digest; NULL is encoded as an empty array. */
static void codec_digest(struct gpubpf_codec *c, const uint8_t **digest)
{
	const void *data = *digest;
	size_t size = data ? GPUBPF_IMAGE_DIGEST : 0;

	gpubpf_codec_bytes(c, &data, &size);
	gpubpf_codec_check(c, !size || size == GPUBPF_IMAGE_DIGEST);
	if (!c->w)
		*digest = size ? data : NULL;
}

static void codec_opts(struct gpubpf_codec *c, struct gpubpf_target_opts *opts)
{
	int32_t level = opts->opt_level;

	gpubpf_codec_s32(c, &level);
	gpubpf_codec_check(c, level >= 0 && level <= 3);
	opts->opt_level = level;
	gpubpf_codec_bool(c, &opts->kernels);
	gpubpf_codec_bool(c, &opts->one_kernel);
	gpubpf_codec_bool(c, &opts->inlined);
	gpubpf_codec_bool(c, &opts->text);
	gpubpf_codec_bool(c, &opts->validate);
	gpubpf_codec_text(c, &opts->cpu);
	if (!c->w && !opts->cpu[0])
		opts->cpu = NULL;
	gpubpf_codec_bytes(c, &opts->probes, &opts->probes_size);
	codec_digest(c, &opts->alike);
	gpubpf_codec_text(c, &opts->after);
	if (!c->w && !opts->after[0])
		opts->after = NULL;
}

static void codec_image_data(struct gpubpf_codec *c, struct gpubpf_image *image)
{
	codec_digest(c, &image->digest);
	if (!image->digest)
		gpubpf_codec_bytes(c, &image->data, &image->size);
}

static void codec_image(struct gpubpf_codec *c, struct gpubpf_image *image)
{
	struct gpubpf_header *headers;

	GPUBPF_CODEC_ENUM(c, image->kind, GPUBPF_NIMAGES);
	gpubpf_codec_text(c, &image->options);
	gpubpf_codec_text(c, &image->cwd);
	gpubpf_codec_text(c, &image->kernel);
	gpubpf_codec_u32(c, &image->places);
	gpubpf_codec_u64(c, &image->built_ns);
	gpubpf_codec_text(c, &image->answer);
	if (!c->w && !image->answer[0])
		image->answer = NULL;
	codec_image_data(c, image);
	headers = gpubpf_codec_array(c, image->headers, &image->nheaders, sizeof(*headers), 8);
	image->headers = headers;
	for (uint32_t i = 0; i < image->nheaders; i++) {
		gpubpf_codec_text(c, &headers[i].name);
		gpubpf_codec_bytes(c, &headers[i].data, &headers[i].size);
	}
}

static void codec_blob(struct gpubpf_codec *c, struct gpubpf_blob *blob)
{
	const void *data = blob->data;

	gpubpf_codec_bytes(c, &data, &blob->size);
	if (!c->w)
		blob->data = (void *)data;
}

static void codec_twin(struct gpubpf_codec *c, struct gpubpf_twin_image *twin)
{
	uint32_t room = sizeof(twin->piece) / sizeof(twin->piece[0]);

	GPUBPF_CODEC_ENUM(c, twin->npieces, room + 1);
	for (uint32_t i = 0; i < twin->npieces; i++) {
		struct gpubpf_twin_piece *piece = &twin->piece[i];

		GPUBPF_CODEC_ENUM(c, piece->kind, GPUBPF_NIMAGES);
		gpubpf_codec_text(c, &piece->options);
		gpubpf_codec_str(c, piece->arch, sizeof(piece->arch));
		codec_blob(c, &piece->blob);
	}
	twin->twins = gpubpf_codec_array(c, twin->twins, &twin->ntwins, sizeof(*twin->twins), 4);
	for (uint32_t i = 0; i < twin->ntwins; i++)
		gpubpf_codec_u32(c, &twin->twins[i]);
	twin->refused = gpubpf_codec_array(c, twin->refused, &twin->nrefused, sizeof(*twin->refused), 8);
	for (uint32_t i = 0; i < twin->nrefused; i++) {
		gpubpf_codec_u32(c, &twin->refused[i].site);
		gpubpf_codec_str(c, twin->refused[i].reason, sizeof(twin->refused[i].reason));
	}
}

static void codec_assembly(struct gpubpf_codec *c, struct gpubpf_assembly *a)
{
	gpubpf_codec_text(c, &a->path);
	gpubpf_codec_text(c, &a->identity);
	gpubpf_codec_text(c, &a->arch);
	gpubpf_codec_bool(c, &a->is_version);
	gpubpf_codec_bool(c, &a->keeps_literals);
	codec_blob(c, &a->text);
}

static void codec_callees(struct gpubpf_codec *c, const struct gpubpf_result *res, struct gpubpf_kernel_info *k)
{
	k->callees = gpubpf_codec_array(c, k->callees, &k->ncallees, sizeof(*k->callees), 4);
	for (uint32_t i = 0; i < k->ncallees; i++) {
		gpubpf_codec_u32(c, &k->callees[i]);
		gpubpf_codec_check(c, k->callees[i] < res->nkernels);
	}
}

static void codec_places(struct gpubpf_codec *c, struct gpubpf_kernel_info *k)
{
	k->places = gpubpf_codec_array(c, k->places, &k->nplaces, sizeof(*k->places), 24);
	for (uint32_t i = 0; i < k->nplaces; i++) {
		GPUBPF_CODEC_ENUM(c, k->places[i].kind, GPUBPF_NSITES);
		gpubpf_codec_u32(c, &k->places[i].id);
		gpubpf_codec_u32(c, &k->places[i].line);
		gpubpf_codec_text(c, &k->places[i].name);
		gpubpf_codec_u32(c, &k->places[i].operands);
		gpubpf_codec_u32(c, &k->places[i].free);
	}
}

static void codec_kernels(struct gpubpf_codec *c, struct gpubpf_result *res)
{
	res->kernels = gpubpf_codec_array(c, res->kernels, &res->nkernels, sizeof(*res->kernels), 24);
	gpubpf_codec_check(c, res->nkernels <= MAX_KERNELS);
	for (uint32_t i = 0; i < res->nkernels && !c->failed; i++) {
		struct gpubpf_kernel_info *k = &res->kernels[i];

		gpubpf_codec_str(c, k->name, sizeof(k->name));
		gpubpf_codec_params(c, &k->params, &k->nparams);
		gpubpf_codec_u32(c, &k->regs);
		gpubpf_codec_str(c, k->arch, sizeof(k->arch));
		gpubpf_codec_u32(c, &k->flags);
		codec_callees(c, res, k);
		codec_places(c, k);
		gpubpf_codec_str(c, k->reason, sizeof(k->reason));
	}
}

static void codec_diag(struct gpubpf_codec *c, struct gpubpf_diag *diag)
{
	GPUBPF_CODEC_ENUM(c, diag->code, GPUBPF_NERRORS);
	gpubpf_codec_u32(c, &diag->pc);
	gpubpf_codec_u32(c, &diag->line);
	gpubpf_codec_str(c, diag->file, sizeof(diag->file));
	gpubpf_codec_str(c, diag->source, sizeof(diag->source));
	gpubpf_codec_str(c, diag->where, sizeof(diag->where));
	gpubpf_codec_str(c, diag->what, sizeof(diag->what));
	gpubpf_codec_str(c, diag->remedy, sizeof(diag->remedy));
	gpubpf_codec_str(c, diag->state, sizeof(diag->state));
}

static void codec_request(struct gpubpf_codec *c, struct gpubpf_job_request *req)
{
	uint32_t version = GPUBPF_JOB_VERSION;

	gpubpf_codec_u32(c, &version);
	gpubpf_codec_check(c, version == GPUBPF_JOB_VERSION);
	GPUBPF_CODEC_ENUM(c, req->kind, GPUBPF_JOB_LAST + 1);
	gpubpf_codec_str(c, req->target, sizeof(req->target));
	switch (req->kind) {
	case GPUBPF_JOB_EMIT:
		codec_opts(c, &req->opts);
		gpubpf_codec_job(c, &req->job);
		return;
	case GPUBPF_JOB_INSPECT:
	case GPUBPF_JOB_QUERY:
		codec_image(c, &req->image);
		gpubpf_codec_caps(c, &req->caps);
		return;
	case GPUBPF_JOB_INJECT:
		codec_image(c, &req->image);
		codec_opts(c, &req->opts);
		gpubpf_codec_job(c, &req->job);
		return;
	case GPUBPF_JOB_BUILD:
		gpubpf_codec_caps(c, &req->caps);
		codec_twin(c, &req->pieces);
		return;
	case GPUBPF_JOB_ASSEMBLE:
		codec_assembly(c, &req->assembly);
		return;
	}
	c->failed = true;
}

static void codec_result(struct gpubpf_codec *c, struct gpubpf_result *res)
{
	GPUBPF_CODEC_ENUM(c, res->kind, GPUBPF_JOB_LAST + 1);
	gpubpf_codec_s32(c, &res->status);
	gpubpf_codec_check(c, res->status <= 0 && res->status > -4096);
	gpubpf_codec_text(c, &res->log);
	codec_blob(c, &res->dump);
	if (res->status < 0) {
		codec_diag(c, &res->diag);
		return;
	}
	switch (res->kind) {
	case GPUBPF_JOB_EMIT:
		codec_blob(c, &res->blob);
		return;
	case GPUBPF_JOB_INSPECT:
		codec_kernels(c, res);
		return;
	case GPUBPF_JOB_INJECT:
	case GPUBPF_JOB_BUILD:
	case GPUBPF_JOB_QUERY:
	case GPUBPF_JOB_ASSEMBLE:
		codec_twin(c, &res->twin);
		return;
	}
	c->failed = true;
}

static int get_encode_result(const struct gpubpf_codec *c)
{
	return c->w->failed ? -ENOMEM : c->failed ? -EINVAL : 0;
}

static int get_decode_result(const struct gpubpf_codec *c)
{
	return c->failed || c->pool->failed || !gpubpf_reader_done(&c->r) ? -EBADMSG : 0;
}

int gpubpf_job_request_encode(const struct gpubpf_job_request *req, struct gpubpf_writer *w)
{
	struct gpubpf_codec c = { .w = w };
	struct gpubpf_job_request copy = *req;

	codec_request(&c, &copy);
	return get_encode_result(&c);
}

int gpubpf_result_encode(const struct gpubpf_result *res, struct gpubpf_writer *w)
{
	struct gpubpf_codec c = { .w = w };
	struct gpubpf_result copy = *res;

	codec_result(&c, &copy);
	return get_encode_result(&c);
}

int gpubpf_job_request_decode(const void *data, size_t size, struct gpubpf_pool *pool, struct gpubpf_job_request *req)
{
	struct gpubpf_codec c = { .pool = pool };

	memset(req, 0, sizeof(*req));
	gpubpf_reader_init(&c.r, data, size);
	codec_request(&c, req);
	return get_decode_result(&c);
}

int gpubpf_result_decode(const void *data, size_t size, struct gpubpf_pool *pool, struct gpubpf_result *res)
{
	struct gpubpf_codec c = { .pool = pool };

	memset(res, 0, sizeof(*res));
	gpubpf_reader_init(&c.r, data, size);
	codec_result(&c, res);
	return get_decode_result(&c);
}
