/* SPDX-License-Identifier: Apache-2.0 */
/* The tool's part of worker jobs: encodes them, looks into the cache, and checks the answers, which are not trusted. */
#include "job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/checks.h"
#include "worker.h"

/* Does the source name a file? The files are no part of the key. */
static bool may_include(const struct gpubpf_image *image)
{
	return image->nheaders || (image->data && memmem(image->data, image->size, "include", strlen("include"))) ||
	       (image->options && strstr(image->options, "include"));
}

static bool is_cacheable(const struct gpubpf_worker *w, const struct gpubpf_job_request *req)
{
	return w->cache_dir[0] && !(w->reads_files && may_include(&req->image));
}

static bool from_cache(struct gpubpf_worker *w, const struct gpubpf_job_request *req, const uint8_t *key,
		       struct gpubpf_job_answer *a)
{
	size_t size;

	if (!is_cacheable(w, req))
		return false;
	a->cached = gpubpf_result_cache_get(w->cache_dir, key, &size);
	return a->cached && gpubpf_result_decode(a->cached, size, &a->pool, &a->res) == 0 && a->res.kind == req->kind &&
	       a->res.status == 0;
}

void gpubpf_worker_cache_use(const struct gpubpf_worker *w, uint64_t *hits, uint64_t *misses)
{
	*hits += w->hits;
	*misses += w->misses;
}

static int run_and_store(struct gpubpf_worker *w, const struct gpubpf_job_request *req,
			 const struct gpubpf_writer *bytes, struct gpubpf_job_answer *a, struct gpubpf_diag *diag)
{
	int err = gpubpf_worker_run(w, req, bytes, a, diag);
	bool succeeded = !err && a->res.status == 0;

	if ((err || succeeded) && is_cacheable(w, req))
		w->misses++;
	if (succeeded && is_cacheable(w, req)) /* results of failed jobs are not cached */
		gpubpf_result_cache_put(w->cache_dir, w->key, a->packet.data, a->packet.size, GPUBPF_RESULT_CACHE_BOUND);
	return err;
}

/* Run a job that is not in the cache. If another process runs an equal job, wait, and look into the cache again. */
static int run_uncached(struct gpubpf_worker *w, const struct gpubpf_job_request *req,
			const struct gpubpf_writer *bytes, struct gpubpf_job_answer *a, struct gpubpf_diag *diag)
{
	bool waits = w->leaves && is_cacheable(w, req);
	int err = 0;

	gpubpf_assert_held(&w->lock);
	w->kind = req->kind;
	if (waits && gpubpf_worker_begin_flight(w) && from_cache(w, req, w->key, a))
		w->hits++;
	else
		err = run_and_store(w, req, bytes, a, diag);
	gpubpf_worker_end_flight(w);
	return err;
}

/*
 * Answers the request from the cache or by the worker. Returns 0 if a->res is a checked result of this kind with status
 * 0.
 */
static int run_job(struct gpubpf_worker *w, const struct gpubpf_job_request *req, struct gpubpf_job_answer *a,
		   struct gpubpf_diag *diag)
{
	struct gpubpf_writer bytes = { 0 };
	int err = gpubpf_job_request_encode(req, &bytes);

	if (err < 0) {
		gpubpf_writer_finish(&bytes);
		gpubpf_diag_set(diag, err == -ENOMEM ? GPUBPF_E_NO_MEMORY : GPUBPF_E_SYSTEM, GPUBPF_NOPC,
				"the job for %s cannot be encoded (no memory, or a value is out of "
				"range)",
				gpubpf_worker_base_name(w->path));
		return err;
	}
	pthread_mutex_lock(&w->lock);
	gpubpf_result_cache_key(w->identity, bytes.data, bytes.size, w->key);
	if (from_cache(w, req, w->key, a))
		w->hits++;
	else
		err = run_uncached(w, req, &bytes, a, diag);
	gpubpf_worker_set_idle(w);
	pthread_mutex_unlock(&w->lock);
	gpubpf_writer_finish(&bytes);
	if (!err && a->res.status < 0) {
		if (diag && diag->code == GPUBPF_OK)
			*diag = a->res.diag;
		err = a->res.status;
	}
	return err;
}

static void answer_finish(struct gpubpf_job_answer *a)
{
	gpubpf_job_packet_finish(&a->packet);
	gpubpf_pool_finish(&a->pool);
	free(a->cached);
}

static int no_memory(struct gpubpf_diag *diag)
{
	gpubpf_diag_set(diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory for a worker's result");
	return -ENOMEM;
}

/*
 * Copies a blob, which the caller frees. The string `tail` (NULL: "") follows the data in the same allocation, and
 * *text points to it.
 */
static int copy_blob(const struct gpubpf_blob *from, const char *tail, struct gpubpf_blob *out, const char **text,
		     struct gpubpf_diag *diag)
{
	size_t n = tail ? strlen(tail) + 1 : 1;
	char *data = malloc(from->size + n);

	if (!data)
		return no_memory(diag);
	memcpy(data, from->data, from->size);
	memcpy(data + from->size, tail ? tail : "", n);
	out->data = data;
	out->size = from->size;
	if (text)
		*text = data + from->size;
	return 0;
}

/* Copies the code after the pass opts->after to opts->dump. If memory runs out, opts->dump stays empty. */
static void copy_dump(const struct gpubpf_job_answer *a, const struct gpubpf_target_opts *opts)
{
	struct gpubpf_diag ignored;

	gpubpf_diag_init(&ignored);
	if (opts->dump && a->res.dump.size)
		copy_blob(&a->res.dump, NULL, opts->dump, NULL, &ignored);
}

int gpubpf_worker_emit(struct gpubpf_worker *worker, const char *target, const struct gpubpf_lower_job *job,
		       const struct gpubpf_target_opts *opts, struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	struct gpubpf_job_request req = { .kind = GPUBPF_JOB_EMIT, .opts = *opts, .job = *job };
	struct gpubpf_job_answer a = { 0 };
	int err;

	snprintf(req.target, sizeof(req.target), "%s", target);
	err = run_job(worker, &req, &a, diag);
	copy_dump(&a, opts);
	if (!err)
		err = copy_blob(&a.res.blob, NULL, out, NULL, diag);
	answer_finish(&a);
	return err;
}

/*
 * Copies a result to one allocation, which contains the kernels, then all places, parameters, callees, and names of
 * places.
 */
static int copy_kernels(const struct gpubpf_result *res, struct gpubpf_kernel_info **kernels, uint32_t *nkernels,
			struct gpubpf_diag *diag)
{
	struct gpubpf_kernel_info *made;
	struct gpubpf_param *params;
	struct gpubpf_place *places;
	size_t total = 0, calls = 0, all = 0, names = 0;
	uint32_t *callees;
	char *name;

	for (uint32_t i = 0; i < res->nkernels; i++) {
		all += res->kernels[i].nplaces;
		for (uint32_t k = 0; k < res->kernels[i].nplaces; k++)
			names += strlen(res->kernels[i].places[k].name) + 1;
		total += res->kernels[i].nparams;
		calls += res->kernels[i].ncallees;
	}
	made = malloc(res->nkernels * sizeof(*made) + all * sizeof(*places) + total * sizeof(*params) +
		      calls * sizeof(*callees) + names + 1);
	if (!made)
		return no_memory(diag);
	places = (struct gpubpf_place *)(made + res->nkernels);
	params = (struct gpubpf_param *)(places + all);
	callees = (uint32_t *)(params + total);
	name = (char *)(callees + calls);
	for (uint32_t i = 0; i < res->nkernels; i++) {
		made[i] = res->kernels[i];
		made[i].places = memcpy(places, res->kernels[i].places, made[i].nplaces * sizeof(*places));
		for (uint32_t k = 0; k < made[i].nplaces; k++) {
			const char *from = places[k].name;

			places[k].name = name;
			name = stpcpy(name, from) + 1;
		}
		places += made[i].nplaces;
		made[i].params = params;
		memcpy(params, res->kernels[i].params, made[i].nparams * sizeof(*params));
		params += made[i].nparams;
		made[i].callees = callees;
		memcpy(callees, res->kernels[i].callees, made[i].ncallees * sizeof(*callees));
		callees += made[i].ncallees;
	}
	*kernels = made;
	*nkernels = res->nkernels;
	return 0;
}

int gpubpf_worker_inspect(struct gpubpf_worker *worker, const char *target, const struct gpubpf_image *image,
			  const struct gpubpf_device_caps *caps, struct gpubpf_kernel_info **kernels,
			  uint32_t *nkernels, struct gpubpf_diag *diag)
{
	struct gpubpf_job_request req = { .kind = GPUBPF_JOB_INSPECT, .image = *image, .caps = *caps };
	struct gpubpf_job_answer a = { 0 };
	int err;

	snprintf(req.target, sizeof(req.target), "%s", target);
	err = run_job(worker, &req, &a, diag);
	if (!err)
		err = copy_kernels(&a.res, kernels, nkernels, diag);
	answer_finish(&a);
	return err;
}

void gpubpf_twin_image_finish(struct gpubpf_twin_image *twin)
{
	for (uint32_t i = 0; i < twin->npieces; i++)
		free(twin->piece[i].blob.data);
	free(twin->twins);
	free(twin->refused);
	memset(twin, 0, sizeof(*twin));
}

/*
 * Copies the lists of twins and refusals, and checks that each refers to a site of the job. `nsites` is the number of
 * the job's sites. It is UINT32_MAX for BUILD and ASSEMBLE, which have no sites.
 */
static int copy_lists(const struct gpubpf_twin_image *from, uint32_t nsites, struct gpubpf_twin_image *out,
		      struct gpubpf_diag *diag)
{
	for (uint32_t i = 0; i < from->nrefused; i++)
		if (from->refused[i].site >= nsites)
			return gpubpf_diag_set(diag, GPUBPF_E_PROTOCOL, GPUBPF_NOPC,
					       "the worker refused site number %u, but the request has no such site",
					       from->refused[i].site);
	for (uint32_t i = 0; i < from->ntwins; i++)
		if (from->twins[i] >= nsites)
			return gpubpf_diag_set(diag, GPUBPF_E_PROTOCOL, GPUBPF_NOPC,
					       "the worker reported a twin for site number %u, but the request has no such site",
					       from->twins[i]);
	out->refused = malloc(from->nrefused * sizeof(*out->refused) + 1);
	out->twins = malloc(from->ntwins * sizeof(*out->twins) + 1);
	if (!out->refused || !out->twins)
		return no_memory(diag);
	memcpy(out->refused, from->refused, from->nrefused * sizeof(*out->refused));
	memcpy(out->twins, from->twins, from->ntwins * sizeof(*out->twins));
	out->nrefused = from->nrefused;
	out->ntwins = from->ntwins;
	return 0;
}

static int copy_twin(const struct gpubpf_twin_image *from, uint32_t nsites, struct gpubpf_twin_image *out,
		     struct gpubpf_diag *diag)
{
	struct gpubpf_twin_image twin = { 0 };
	int err = copy_lists(from, nsites, &twin, diag);

	for (uint32_t i = 0; i < from->npieces && !err; i++) {
		const struct gpubpf_twin_piece *piece = &from->piece[i];

		twin.piece[i].kind = piece->kind;
		memcpy(twin.piece[i].arch, piece->arch, sizeof(piece->arch));
		err = copy_blob(&piece->blob, piece->options, &twin.piece[i].blob, &twin.piece[i].options, diag);
		twin.npieces += !err;
	}
	if (err < 0)
		gpubpf_twin_image_finish(&twin);
	else
		*out = twin;
	return err;
}

int gpubpf_worker_query(struct gpubpf_worker *worker, const char *target, const struct gpubpf_image *image,
			const struct gpubpf_device_caps *caps, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	struct gpubpf_job_request req = { .kind = GPUBPF_JOB_QUERY, .image = *image, .caps = *caps };
	struct gpubpf_job_answer a = { 0 };
	int err;

	snprintf(req.target, sizeof(req.target), "%s", target);
	err = run_job(worker, &req, &a, diag);
	if (!err)
		err = copy_twin(&a.res.twin, 0, out, diag);
	answer_finish(&a);
	return err;
}

int gpubpf_worker_inject(struct gpubpf_worker *worker, const char *target, const struct gpubpf_image *image,
			 const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts,
			 struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	struct gpubpf_job_request req = { .kind = GPUBPF_JOB_INJECT, .image = *image, .opts = *opts, .job = *job };
	struct gpubpf_job_answer a = { 0 };
	int err;

	snprintf(req.target, sizeof(req.target), "%s", target);
	err = run_job(worker, &req, &a, diag);
	copy_dump(&a, opts);
	if (!err)
		err = copy_twin(&a.res.twin, job->nsites, out, diag);
	answer_finish(&a);
	return err;
}

/* Runs a job whose worker program also returns a log. */
static int run_logged(struct gpubpf_worker *worker, const struct gpubpf_job_request *req, struct gpubpf_twin_image *out,
		      char *log, size_t log_size, struct gpubpf_diag *diag)
{
	struct gpubpf_job_answer a = { 0 };
	int err;

	if (log_size)
		log[0] = 0;
	err = run_job(worker, req, &a, diag);
	if (log_size && a.res.log)
		snprintf(log, log_size, "%s", a.res.log);
	if (!err)
		err = copy_twin(&a.res.twin, UINT32_MAX, out, diag);
	answer_finish(&a);
	return err;
}

int gpubpf_worker_build(struct gpubpf_worker *builder, const struct gpubpf_device_caps *caps,
			const struct gpubpf_twin_image *pieces, struct gpubpf_twin_image *out, char *log,
			size_t log_size, struct gpubpf_diag *diag)
{
	struct gpubpf_job_request req = { .kind = GPUBPF_JOB_BUILD, .caps = *caps, .pieces = *pieces };

	return run_logged(builder, &req, out, log, log_size, diag);
}

int gpubpf_worker_assemble(struct gpubpf_worker *starter, const struct gpubpf_assembly *what,
			   struct gpubpf_twin_image *out, char *log, size_t log_size, struct gpubpf_diag *diag)
{
	struct gpubpf_job_request req = { .kind = GPUBPF_JOB_ASSEMBLE, .assembly = *what };

	return run_logged(starter, &req, out, log, log_size, diag);
}
