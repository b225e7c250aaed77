/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the builders: a few threads, each with its own worker processes. The threads share a queue of requests, a queue
 * of finished requests, and a cache of twins.
 */
#include "build_pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/wire/checks.h"
#include "core/worker/job.h"
#include "private.h"
#include "twin_cache.h"
#include "twin_store.h"

#define BASE_THREADS 4         /* up to this number, one thread per processor */
#define MAX_THREADS 8          /* beyond BASE_THREADS, one thread per two processors, up to this number */
#define MIN_STACK_BYTES (1u << 20)
/* time limit of the assembler per twin; after it, the runtime compiles the text, because a launch may be waiting */
#define ASSEMBLER_MS 10000

struct builder {
	struct gpubpf_builders *all;
	pthread_t thread;
	struct gpubpf_worker_set set;
	const struct gpubpf_twin_req *current; /* the request that the thread serves, or NULL; protected by all->lock */
};

struct gpubpf_builders {
	struct gpubpf_session *s;
	int wake; /* eventfd, not owned, that a builder writes when it has finished a request */
	pthread_mutex_t lock;
	pthread_cond_t work; /* a request arrived */
	struct gpubpf_queue {
		struct gpubpf_twin_req *first, **tail;
	} requested, ahead; /* ahead: requests that are served only when `requested` is empty */
	struct gpubpf_twin_req *done;
	struct gpubpf_twin_cache cache;
	struct gpubpf_prefetch images; /* images for prefetch.c; only the event loop uses it */
	/*
	 * Numbers of started threads, of threads that wait for a request, and of threads that serve a request of
	 * `ahead`.
	 */
	uint32_t nthreads, max_threads, idle, nahead;
	bool stop;
	struct builder builder[MAX_THREADS];
};

/*
 * Start the worker of this kind, if it is not running. The first twin that needs a worker starts it. So a session
 * without twins costs no process.
 */
static int open_worker(struct gpubpf_builders *all, struct gpubpf_worker_set *set, enum gpubpf_worker_kind kind,
		       bool cache, uint64_t memory, bool one_job)
{
	const uint32_t build_ms = gpubpf_session_build_ms(all->s);
	const struct gpubpf_session_opts *o = &all->s->opts;
	struct gpubpf_worker *worker;
	char path[512];
	struct gpubpf_worker_opts opts = {
		.kind = kind,
		.path = o->worker_dir ? path : NULL,
		.memory = memory,
		.timeout_ms = kind == GPUBPF_WORKER_PTXAS && build_ms > ASSEMBLER_MS ? ASSEMBLER_MS : build_ms,
		.cache_dir = cache ? o->cache_dir : NULL,
		.one_job = one_job,
		.reads_files = kind == GPUBPF_WORKER_CLREAD,
		/* A short session may end before its twin is built; the next one then continues. */
		.leaves = all->s->attaches,
	};
	int err;

	if (set->worker[kind])
		return 0;
	if (o->worker_dir)
		snprintf(path, sizeof(path), "%s/%s", o->worker_dir, gpubpf_worker_program(kind));
	err = gpubpf_worker_create(&opts, &worker);
	if (!err)
		/* This store must precede the read of `stop` in build_twin(), see gpubpf_builders_destroy(). */
		__atomic_store_n(&set->worker[kind], worker, __ATOMIC_SEQ_CST);
	return err;
}

/*
 * Returns the limit on the address space of the process that runs the vendor's compiler. For a GPU there is no limit,
 * because its driver may reserve more than any limit allows.
 *
 * The runtime of a CPU starts one thread per processor. Each thread has a stack, and a heap for which malloc() reserves
 * 64 or 128 MiB. Intel's runtime ran out of 4 GiB on 64 processors.
 */
static uint64_t compute_builder_memory(const struct gpubpf_device_caps *caps)
{
	long processors = sysconf(_SC_NPROCESSORS_CONF);

	if (!(caps->bits & GPUBPF_CAP_SHARED_ARENA))
		return UINT64_MAX;
	return (4ull << 30) + (uint64_t)(processors > 0 ? processors : 1) * (256ull << 20);
}

/*
 * Results of gpubpf-clread are cached only in sessions that attach, and only if the source names no file. They depend
 * not only on the job, because gpubpf-clread reads files that options name.
 */
static int open_workers(struct gpubpf_builders *all, struct builder *builder, const struct gpubpf_device_caps *caps)
{
	struct gpubpf_worker_set *set = &builder->set;
	/*
	 * The compiler of such a device needs a new process per job. After it has rejected a module, its state makes
	 * later modules fail (seen with Intel's compiler).
	 */
	bool one_job = caps->bits & GPUBPF_CAP_ACCEPTS_SPIRV;
	int err = open_worker(all, set, GPUBPF_WORKER_COMPILE, true, 0, false);

	if (!err)
		err = open_worker(all, set, GPUBPF_WORKER_CLREAD, all->s->attaches, 0, false);
	if (!err)
		err = open_worker(all, set, GPUBPF_WORKER_BUILD, true, compute_builder_memory(caps), one_job);
	if (!err)
		err = open_worker(all, set, GPUBPF_WORKER_ASSEMBLE, true, 0, false);
	if (!err)
		err = open_worker(all, set, GPUBPF_WORKER_PTXAS, true, 0, false);
	return err;
}

static void cache_use(const struct gpubpf_worker_set *set, uint64_t *hits, uint64_t *misses)
{
	for (int k = 0; k < GPUBPF_NWORKERS; k++)
		if (set->worker[k])
			gpubpf_worker_cache_use(set->worker[k], hits, misses);
}

static void build_counted(const struct gpubpf_session *s, struct gpubpf_worker_set *set,
			  const struct gpubpf_twin_req *req, const struct gpubpf_image *image, struct gpubpf_twin *twin)
{
	uint64_t hits[2] = { 0 }, misses[2] = { 0 };

	cache_use(set, &hits[0], &misses[0]);
	gpubpf_twin_make(s, set, req, image, twin);
	cache_use(set, &hits[1], &misses[1]);
	twin->from_disk = hits[1] > hits[0] && misses[1] == misses[0];
}

static void build_twin(struct gpubpf_builders *all, struct builder *builder, struct gpubpf_twin_req *req,
		       const struct gpubpf_image *image, struct gpubpf_twin *twin)
{
	int err = open_workers(all, builder, &req->caps);

	twin->transient_failure = err < 0;
	if (err < 0)
		gpubpf_twin_refuse(twin, "the compile workers could not be started: %s", strerror(-err));
	else if (__atomic_load_n(&all->stop, __ATOMIC_SEQ_CST))
		gpubpf_twin_refuse(twin, "the session has ended");
	else
		build_counted(all->s, &builder->set, req, image, twin);
}

/* Get the twin from the disk, or let workers build it. */
static void fetch_or_build(struct gpubpf_builders *all, struct builder *builder, struct gpubpf_twin_req *req,
			   const struct gpubpf_image *image)
{
	uint8_t key[32];
	bool storable = gpubpf_twin_store_key(all->s, req, key);

	if (storable && gpubpf_twin_store_get(all->s, key, req, req->twin))
		return;
	build_twin(all, builder, req, image, req->twin);
	if (storable)
		gpubpf_twin_store_put(all->s, key, req->twin);
}

static struct gpubpf_twin *lookup_twin(struct gpubpf_builders *all, const struct gpubpf_twin_req *req, uint8_t key[32])
{
	struct gpubpf_twin *twin;
	uint8_t family[32];

	gpubpf_image_key(req, family);
	gpubpf_twin_key(req, family, key);
	pthread_mutex_lock(&all->lock);
	twin = gpubpf_twin_cache_find(&all->cache, key);
	pthread_mutex_unlock(&all->lock);
	return twin;
}

/*
 * Serve a request from the cache, without reading its image. This works if the peer has sent an image with this
 * identity before. If a peer uses an identity for two images, it gets a twin of the first.
 */
static bool serve_known(struct gpubpf_builders *all, struct gpubpf_twin_req *req)
{
	uint8_t key[32];

	req->twin = req->has_digest && gpubpf_image_is_self_contained(req) ? lookup_twin(all, req, key) : NULL;
	req->cached = req->twin;
	return req->twin;
}

/*
 * Serve a request whose image was read. The digest of the image is part of the key under which the twin is in the
 * cache. If the twin is not in the cache, build it.
 */
static void serve_read(struct gpubpf_builders *all, struct builder *builder, struct gpubpf_twin_req *req)
{
	struct gpubpf_image image = req->copy->image;
	struct gpubpf_twin *twin;
	struct gpubpf_cached_twin *claim;
	uint8_t family[32], key[32];

	image.kernel = req->nkernels == 1 ? req->kernels[0].name : "";
	gpubpf_image_key(req, family);
	gpubpf_twin_key(req, family, key);
	pthread_mutex_lock(&all->lock);
	twin = gpubpf_twin_cache_get(&all->cache, key, &claim);
	pthread_mutex_unlock(&all->lock);
	if (twin) {
		gpubpf_twin_put(req->twin);
		req->twin = twin;
		req->cached = true;
	} else if (claim || !req->ahead) {
		req->twin->ahead = req->ahead;
		fetch_or_build(all, builder, req, &image);
	}
	pthread_mutex_lock(&all->lock);
	if (claim)
		gpubpf_twin_cache_put(&all->cache, claim, req->twin);
	pthread_mutex_unlock(&all->lock);
}

/* Serve a request: get the twin from the cache, or build it and add it to the cache. */
static void serve_request(struct gpubpf_builders *all, struct builder *builder, struct gpubpf_twin_req *req)
{
	char why[200];

	req->queue_ns = gpubpf_now_ns() - req->submitted_ns;
	if (serve_known(all, req))
		return;
	req->twin = gpubpf_twin_new(req);
	if (!req->twin)
		return;
	if (gpubpf_image_read(req, why, sizeof(why)) < 0)
		gpubpf_twin_refuse(req->twin, "%s", why);
	else
		serve_read(all, builder, req);
}

static void list_kernels(struct gpubpf_builders *all, struct builder *builder, struct gpubpf_twin_req *req)
{
	if (!open_workers(all, builder, &req->caps))
		req->names = gpubpf_twin_kernels(all->s, &builder->set, req, &req->copy->image);
}

static void wake_loop(struct gpubpf_builders *all)
{
	uint64_t one = 1;

	if (write(all->wake, &one, sizeof(one)) < 0)
		return; /* the eventfd's counter is at its maximum, so the event loop wakes anyway */
}

static struct gpubpf_twin_req *pop(struct gpubpf_queue *q)
{
	struct gpubpf_twin_req *req = q->first;

	if (!req)
		return NULL;
	q->first = req->next;
	if (!q->first)
		q->tail = &q->first;
	return req;
}

/*
 * Take the next request. Take one of `ahead` only if another builder then remains for requests of agents. The caller
 * holds the lock.
 */
static struct gpubpf_twin_req *take_next_request(struct gpubpf_builders *all)
{
	struct gpubpf_twin_req *req = pop(&all->requested);

	gpubpf_assert_held(&all->lock);
	if (req || all->nahead + 1 >= all->max_threads)
		return req;
	req = pop(&all->ahead);
	all->nahead += req != NULL;
	return req;
}

static void *run_builder(void *arg)
{
	struct builder *builder = arg;
	struct gpubpf_builders *all = builder->all;
	struct gpubpf_twin_req *req;

	pthread_mutex_lock(&all->lock);
	while (!all->stop) {
		req = take_next_request(all);
		if (!req) {
			all->idle++;
			pthread_cond_wait(&all->work, &all->lock);
			all->idle--;
			continue;
		}
		builder->current = req;
		pthread_mutex_unlock(&all->lock);
		if (req->lists)
			list_kernels(all, builder, req);
		else
			serve_request(all, builder, req);
		pthread_mutex_lock(&all->lock);
		builder->current = NULL;
		all->nahead -= req->ahead;
		req->next = all->done;
		all->done = req;
		wake_loop(all);
	}
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

/* Start a builder thread with all signals blocked, because the thread that created the session handles signals. */
static void start_builder(struct gpubpf_builders *all)
{
	struct builder *builder = &all->builder[all->nthreads];
	sigset_t every, before;
	pthread_attr_t attr;
	size_t stack;

	gpubpf_assert_held(&all->lock);
	builder->all = all;
	pthread_attr_init(&attr);
	/* the default stack size (ulimit -s) may be smaller */
	if (!pthread_attr_getstacksize(&attr, &stack) && stack < MIN_STACK_BYTES)
		pthread_attr_setstacksize(&attr, MIN_STACK_BYTES);
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	if (!pthread_create(&builder->thread, &attr, run_builder, builder))
		all->nthreads++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
}

static uint32_t choose_thread_count(long cpus)
{
	long many = cpus / 2 < MAX_THREADS ? cpus / 2 : MAX_THREADS;

	if (cpus < 1)
		return 1;
	return cpus < BASE_THREADS ? cpus : many < BASE_THREADS ? BASE_THREADS : many;
}

int gpubpf_builders_create(struct gpubpf_session *s, int wake, struct gpubpf_builders **makers)
{
	struct gpubpf_builders *all = calloc(1, sizeof(*all));

	if (!all)
		return gpubpf_session_fail(s, -ENOMEM, "out of memory");
	all->s = s;
	all->wake = wake;
	all->requested.tail = &all->requested.first;
	all->ahead.tail = &all->ahead.first;
	all->max_threads = choose_thread_count(sysconf(_SC_NPROCESSORS_ONLN));
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->work, NULL);
	gpubpf_twin_cache_init(&all->cache, &all->lock);
	*makers = all;
	return 0;
}

void gpubpf_builders_submit(struct gpubpf_builders *all, struct gpubpf_twin_req *req)
{
	struct gpubpf_queue *q = req->ahead ? &all->ahead : &all->requested;

	pthread_mutex_lock(&all->lock);
	req->next = NULL;
	req->submitted_ns = gpubpf_now_ns();
	*q->tail = req;
	q->tail = &req->next;
	if (!all->idle && all->nthreads < all->max_threads)
		start_builder(all);
	pthread_cond_signal(&all->work);
	pthread_mutex_unlock(&all->lock);
}

static void cancel_worker(struct gpubpf_worker **at)
{
	struct gpubpf_worker *worker = __atomic_load_n(at, __ATOMIC_SEQ_CST);

	if (worker)
		gpubpf_worker_cancel(worker);
}

static void free_requests(struct gpubpf_twin_req *req)
{
	while (req) {
		struct gpubpf_twin_req *next = req->next;

		gpubpf_twin_req_free(req);
		req = next;
	}
}

/*
 * Cancel the jobs of all builders, and free the builders. A builder stores a new worker and then reads `stop`. This
 * function stores `stop` and then reads the workers. So if this function misses a worker, the builder gives that worker
 * no job. Jobs of cancelled workers end with -ECANCELED.
 */
void gpubpf_builders_destroy(struct gpubpf_builders *all)
{
	if (!all)
		return;
	pthread_mutex_lock(&all->lock);
	__atomic_store_n(&all->stop, true, __ATOMIC_SEQ_CST);
	pthread_cond_broadcast(&all->work);
	gpubpf_twin_cache_stop(&all->cache);
	pthread_mutex_unlock(&all->lock);
	for (uint32_t i = 0; i < all->nthreads; i++)
		for (int k = 0; k < GPUBPF_NWORKERS; k++)
			cancel_worker(&all->builder[i].set.worker[k]);
	for (uint32_t i = 0; i < all->nthreads; i++) {
		pthread_join(all->builder[i].thread, NULL);
		for (int k = 0; k < GPUBPF_NWORKERS; k++)
			gpubpf_worker_destroy(all->builder[i].set.worker[k]);
	}
	free_requests(all->requested.first);
	free_requests(all->ahead.first);
	free_requests(all->done);
	gpubpf_twin_cache_finish(&all->cache);
	gpubpf_prefetch_finish(&all->images);
	pthread_mutex_destroy(&all->lock);
	pthread_cond_destroy(&all->work);
	free(all);
}

bool gpubpf_builders_current(struct gpubpf_builders *all, char *kernel, size_t size, uint32_t *step)
{
	const struct gpubpf_twin_req *first = NULL;

	*step = 0;
	pthread_mutex_lock(&all->lock);
	for (uint32_t i = 0; i < all->nthreads; i++) {
		const struct gpubpf_twin_req *now = all->builder[i].current;

		if (!now || now->ahead || (first && first->submitted_ns <= now->submitted_ns))
			continue;
		first = now;
		*step = __atomic_load_n(&all->builder[i].set.step, __ATOMIC_RELAXED);
	}
	snprintf(kernel, size, "%s", first && first->nkernels ? first->kernels[0].name : "");
	pthread_mutex_unlock(&all->lock);
	return first;
}

struct gpubpf_twin_req *gpubpf_builders_collect(struct gpubpf_builders *all)
{
	struct gpubpf_twin_req *done;

	pthread_mutex_lock(&all->lock);
	done = all->done;
	all->done = NULL;
	pthread_mutex_unlock(&all->lock);
	return done;
}

void gpubpf_builders_finish(struct gpubpf_session *s, struct gpubpf_twin_req *done)
{
	gpubpf_prefetch_siblings(s, &s->twins->builders->images, done);
	gpubpf_twin_req_free(done);
}
