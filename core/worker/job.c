/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tool's part of worker jobs: starts a worker process, sends jobs to it, limits their time, and checks the answers,
 * which are not trusted.
 */
#include "job.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/wire/checks.h"
#include "installed.h"
#include "result_cache.h"
#include "codec.h"
#include "spare.h"
#include "spawn.h"
#include "transport.h"

#define DEFAULT_TIMEOUT_MS 60000
#define DEFAULT_MEMORY (4ull << 30)

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
	pid_t pid;     /* 0: not running */
	bool busy;     /* the process runs a job; pid_lock protects busy and jobs */
	uint32_t jobs; /* number of jobs that the process has started */
	/* valid if has_image is set: digest of the image that the process has received */
	uint8_t image_digest[GPUBPF_IMAGE_DIGEST];
	bool has_image;
	int sock;
	uint32_t seq;
	_Atomic uint64_t hits, misses; /* of the result cache on disk */
};

/* An answer from the worker or the cache. `res` points into the packet, the cached data or the pool. */
struct answer {
	struct gpubpf_job_packet packet; /* from the worker */
	void *cached;                    /* from the cache */
	struct gpubpf_pool pool;
	struct gpubpf_result res;
};

int gpubpf_worker_create(const struct gpubpf_worker_opts *opts, struct gpubpf_worker **worker)
{
	struct gpubpf_worker *w = calloc(1, sizeof(*w));
	int err = 0;

	if (!w)
		return -ENOMEM;
	if (!opts->path)
		/* an error is ignored here: if the program is missing, gpubpf_worker_spawn() fails later */
		gpubpf_worker_find(gpubpf_worker_program(opts->kind), w->path, sizeof(w->path));
	else if ((size_t)snprintf(w->path, sizeof(w->path), "%s", opts->path) >= sizeof(w->path))
		err = -ENAMETOOLONG;
	if (!err && opts->cache_dir &&
	    (size_t)snprintf(w->cache_dir, sizeof(w->cache_dir), "%s", opts->cache_dir) >= sizeof(w->cache_dir))
		err = -ENAMETOOLONG;
	if (err < 0) {
		free(w);
		return err;
	}
	gpubpf_worker_identity(w->path, w->identity, sizeof(w->identity));
	w->timeout_ms = opts->timeout_ms ? opts->timeout_ms : DEFAULT_TIMEOUT_MS;
	w->memory = opts->memory ? opts->memory : DEFAULT_MEMORY;
	w->one_job = opts->one_job;
	w->sock = -1;
	pthread_mutex_init(&w->lock, NULL);
	pthread_mutex_init(&w->pid_lock, NULL);
	*worker = w;
	return 0;
}

/* Stores the idle process for a later worker. Returns false if it cannot be stored. The caller holds pid_lock. */
static bool store_spare(struct gpubpf_worker *w)
{
	const struct gpubpf_spare spare = { w->pid, w->sock, w->jobs, w->memory, w->path };

	return !w->one_job && !w->busy && gpubpf_spare_store(&spare);
}

/* Takes over a process that an earlier worker stored. Returns false if there is none. The caller holds pid_lock. */
static bool take_spare(struct gpubpf_worker *w)
{
	struct gpubpf_spare spare = { .memory = w->memory, .path = w->path };

	if (!gpubpf_spare_take(&spare))
		return false;
	w->pid = spare.pid;
	w->sock = spare.sock;
	w->jobs = spare.jobs;
	return true;
}

static int start(struct gpubpf_worker *w)
{
	int err = 0;

	pthread_mutex_lock(&w->pid_lock);
	if (w->cancelled)
		err = -ECANCELED;
	else if (!w->pid && (w->one_job || !take_spare(w))) {
		w->jobs = 0;
		err = gpubpf_worker_spawn(w->path, w->memory, &w->pid, &w->sock);
	}
	w->busy = !err;
	w->jobs += !err;
	pthread_mutex_unlock(&w->pid_lock);
	return err;
}

static void set_idle(struct gpubpf_worker *w)
{
	pthread_mutex_lock(&w->pid_lock);
	w->busy = false;
	pthread_mutex_unlock(&w->pid_lock);
}

/*
 * Ends the worker's process, and returns its wait status. If `closed` is set, the process has closed its socket and is
 * about to exit. The function then waits up to 50 ms for the exit, because the user needs the exit status.
 */
static int stop(struct gpubpf_worker *w, bool closed)
{
	int status = 0;
	pid_t got = 0;

	if (!w->pid)
		return 0;
	close(w->sock);
	pthread_mutex_lock(&w->pid_lock);
	for (int i = 0; closed && i < 50 && !got; i++) {
		got = waitpid(w->pid, &status, WNOHANG);
		if (!got)
			usleep(1000);
	}
	if (!got)
		status = gpubpf_worker_end(w->pid);
	w->pid = 0;
	w->has_image = false;
	w->sock = -1;
	pthread_mutex_unlock(&w->pid_lock);
	return status;
}

void gpubpf_worker_cancel(struct gpubpf_worker *w)
{
	pthread_mutex_lock(&w->pid_lock);
	w->cancelled = true;
	if (w->pid && store_spare(w))
		w->pid = 0;
	else if (w->pid)
		kill(-w->pid, SIGKILL);
	pthread_mutex_unlock(&w->pid_lock);
}

void gpubpf_worker_destroy(struct gpubpf_worker *w)
{
	if (!w)
		return;
	stop(w, false);
	pthread_mutex_destroy(&w->pid_lock);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int report_death(struct gpubpf_worker *w, int err, struct gpubpf_diag *diag)
{
	const char *name = base_name(w->path);
	int status = stop(w, err == -EPIPE);

	if (w->cancelled) {
		gpubpf_diag_set(diag, GPUBPF_E_TIMEOUT, GPUBPF_NOPC, "the job of %s was cancelled", name);
		return -ECANCELED;
	}
	if (err == -ETIMEDOUT) {
		gpubpf_diag_set(diag, GPUBPF_E_TIMEOUT, GPUBPF_NOPC, "%s did not answer within %u ms", name, w->timeout_ms);
		return err;
	}
	if (err == -EBADMSG)
		gpubpf_diag_set(diag, GPUBPF_E_PROTOCOL, GPUBPF_NOPC, "%s sent a malformed answer", name);
	else if (WIFSIGNALED(status))
		gpubpf_diag_set(diag, GPUBPF_E_WORKER_DIED, GPUBPF_NOPC, "%s died of signal %d (%s)", name,
				WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		gpubpf_diag_set(diag, GPUBPF_E_WORKER_DIED, GPUBPF_NOPC, "%s ended with status %d", name,
				WEXITSTATUS(status));
	return -EPIPE;
}

/* Sends the image to the process, unless it already has this image. Jobs that use the same image follow each other. */
static int send_image(struct gpubpf_worker *w, const struct gpubpf_image *image)
{
	struct gpubpf_job_packet packet = { .type = GPUBPF_JOB_IMAGE, .data = image->data, .size = image->size };
	int err;

	if (!image->digest || (w->has_image && !memcmp(w->image_digest, image->digest, sizeof(w->image_digest))))
		return 0;
	w->has_image = false;
	err = gpubpf_job_packet_send(w->sock, &packet);
	if (err < 0)
		return err;
	memcpy(w->image_digest, image->digest, sizeof(w->image_digest));
	w->has_image = true;
	return 0;
}

static int exchange(struct gpubpf_worker *w, const struct gpubpf_job_request *req, const struct gpubpf_writer *bytes,
		    struct answer *a)
{
	enum gpubpf_job_kind kind = req->kind;
	struct gpubpf_job_packet job = {
		.type = kind,
		.seq = ++w->seq,
		.timeout_ms = w->timeout_ms,
		.data = bytes->data,
		.size = bytes->size,
	};
	int err = send_image(w, &req->image);

	if (!err)
		err = gpubpf_job_packet_send(w->sock, &job);
	if (err < 0)
		return err;
	err = gpubpf_job_packet_recv(w->sock, w->timeout_ms, &a->packet);
	if (err <= 0)
		return err ? err : -EPIPE;
	if (a->packet.type != (kind | GPUBPF_JOB_ANSWER) || a->packet.seq != job.seq)
		return -EBADMSG;
	err = gpubpf_result_decode(a->packet.data, a->packet.size, &a->pool, &a->res);
	return !err && a->res.kind != kind ? -EBADMSG : err;
}

/*
 * Runs the job in the worker's process. If the process ended since its last answer (for example, because the Linux
 * kernel killed it when memory ran out), the job is sent to a new process.
 */
static int run_in_worker(struct gpubpf_worker *w, const struct gpubpf_job_request *req,
			 const struct gpubpf_writer *bytes, struct answer *a, struct gpubpf_diag *diag)
{
	bool fresh;
	int err;

	gpubpf_assert_held(&w->lock);
	for (;;) {
		err = start(w);
		fresh = w->jobs == 1;
		if (err == -ECANCELED)
			return report_death(w, err, diag);
		if (err < 0) {
			gpubpf_diag_set(diag, GPUBPF_E_SYSTEM, GPUBPF_NOPC, "cannot start %s: %s", w->path,
					strerror(-err));
			return err;
		}
		err = exchange(w, req, bytes, a);
		if (fresh || (err != -EPIPE && err != -ECONNRESET))
			break;
		stop(w, true);
	}
	if (!err && w->one_job)
		stop(w, false);
	return err < 0 ? report_death(w, err, diag) : 0;
}

static bool from_cache(struct gpubpf_worker *w, enum gpubpf_job_kind kind, const uint8_t *key, struct answer *a)
{
	size_t size;

	if (!w->cache_dir[0])
		return false;
	a->cached = gpubpf_result_cache_get(w->cache_dir, key, &size);
	return a->cached && gpubpf_result_decode(a->cached, size, &a->pool, &a->res) == 0 && a->res.kind == kind &&
	       a->res.status == 0;
}

void gpubpf_worker_cache_use(const struct gpubpf_worker *w, uint64_t *hits, uint64_t *misses)
{
	*hits += w->hits;
	*misses += w->misses;
}

/*
 * Answers the request from the cache or by the worker. Returns 0 if a->res is a checked result of this kind with status
 * 0.
 */
static int run_job(struct gpubpf_worker *w, const struct gpubpf_job_request *req, struct answer *a, struct gpubpf_diag *diag)
{
	struct gpubpf_writer bytes = { 0 };
	uint8_t key[GPUBPF_RESULT_CACHE_KEY];
	int err = gpubpf_job_request_encode(req, &bytes);

	if (err < 0) {
		gpubpf_writer_finish(&bytes);
		gpubpf_diag_set(diag, err == -ENOMEM ? GPUBPF_E_NO_MEMORY : GPUBPF_E_SYSTEM, GPUBPF_NOPC,
				"the job for %s cannot be encoded (no memory, or a value is out of "
				"range)",
				base_name(w->path));
		return err;
	}
	gpubpf_result_cache_key(w->identity, bytes.data, bytes.size, key);
	pthread_mutex_lock(&w->lock);
	if (!from_cache(w, req->kind, key, a)) {
		err = run_in_worker(w, req, &bytes, a, diag);
		if (!err && a->res.status == 0 && w->cache_dir[0]) { /* results of failed jobs are not cached */
			w->misses++;
			gpubpf_result_cache_put(w->cache_dir, key, a->packet.data, a->packet.size,
						GPUBPF_RESULT_CACHE_BOUND);
		}
	} else {
		w->hits++;
	}
	set_idle(w);
	pthread_mutex_unlock(&w->lock);
	gpubpf_writer_finish(&bytes);
	if (!err && a->res.status < 0) {
		if (diag && diag->code == GPUBPF_OK)
			*diag = a->res.diag;
		err = a->res.status;
	}
	return err;
}

static void answer_finish(struct answer *a)
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
static void copy_dump(const struct answer *a, const struct gpubpf_target_opts *opts)
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
	struct answer a = { 0 };
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
	struct answer a = { 0 };
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
	struct answer a = { 0 };
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
	struct answer a = { 0 };
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
	struct answer a = { 0 };
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
