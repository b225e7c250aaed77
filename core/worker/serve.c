/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the main loop of a worker: it receives a job, checks it, runs the target and sends the answer. If the encoding
 * of a job is invalid, the process ends, because the sender has a bug. The sender may start a new worker.
 */
#include "serve.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/lower/code_cache.h"
#include "core/lower/dump.h"
#include "sandbox/in_fork.h"
#include "codec.h"
#include "transport.h"

#define LOG_SIZE (64 * 1024)

#ifdef __SANITIZE_ADDRESS__
/*
 * Turn LeakSanitizer off. It would wait forever for a process that it starts, because the sandbox forbids this process.
 */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}
#endif

struct server {
	int fd;
	const struct gpubpf_serve_ops *ops;
	struct gpubpf_code_cache cache;
	/* the last packet GPUBPF_JOB_IMAGE, for jobs that contain only the digest of their image */
	struct gpubpf_job_packet image;
	char log[LOG_SIZE];
};

/* Returns the target of that name, or NULL if it is unknown or its operations are not linked into this program. */
static const struct gpubpf_target_info *find_target(const struct gpubpf_serve_ops *ops, const char *name)
{
	const struct gpubpf_target_info *info = ops->target ? ops->target(name) : NULL;

	return info && info->ops ? info : NULL;
}

static int lacks(struct gpubpf_diag *diag, const char *target, const char *op)
{
	gpubpf_diag_set(diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC, "target %s cannot %s in this worker", target, op);
	return -EOPNOTSUPP;
}

/* Refuses a job with kinds of places that the target does not support, so that injectors need not check for them. */
static int check_places(const struct gpubpf_target_info *target, const struct gpubpf_lower_job *job,
			struct gpubpf_diag *diag)
{
	char why[GPUBPF_REFUSAL_SIZE];

	for (uint32_t i = 0; i < job->nsites; i++)
		if (!gpubpf_target_supports(target, job->caps, job->sites[i].site, why))
			return gpubpf_diag_set(diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC, "%s", why);
	return 0;
}

/* Checks that the device supports what the verified programs need, such as stack and 64-bit atomics. */
static int check_limits(const struct gpubpf_lower_job *job, struct gpubpf_diag *diag)
{
	const struct gpubpf_limits limits = {
		.name = job->caps->name,
		.atomic_bytes = job->caps->bits & GPUBPF_CAP_ATOMIC64 ? 8 : 4,
		.stack = GPUBPF_STACK_SIZE,
		.frames = GPUBPF_MAX_FRAMES,
	};

	for (uint32_t i = 0; i < job->nsites; i++) {
		for (uint32_t k = 0; k < job->sites[i].nprogs; k++) {
			const struct gpubpf_prog *prog = &job->unit->progs[job->sites[i].progs[k]];
			int err = prog->facts ? gpubpf_limits_check(prog, &limits, diag) : 0;

			if (err < 0) {
				gpubpf_diag_where(diag, "program %s", prog->name);
				return err;
			}
		}
	}
	return 0;
}

static int validate(const struct gpubpf_target_info *target, const struct gpubpf_job_request *req,
		    const struct gpubpf_twin_piece *piece, struct gpubpf_diag *diag)
{
	if (!req->opts.validate || req->opts.text)
		return 0;
	return target->ops->validate(piece, req->job.caps, diag);
}

static int emit(const struct gpubpf_target_info *target, const struct gpubpf_job_request *req, struct gpubpf_result *res)
{
	struct gpubpf_twin_piece piece = { .kind = target->output };
	int err;

	if (!target->output)
		return lacks(&res->diag, target->name, "emit");
	err = target->ops->emit(&req->job, &req->opts, &res->blob, &res->diag);
	piece.blob = res->blob;
	return err ? err : validate(target, req, &piece, &res->diag);
}

/*
 * Does the kernel's list of places contain every kind of place that all kernels have, such as the entry? Only kinds
 * count that were requested and that the target supports. If the list lacked such a place, BPF programs there would
 * silently not run. A kernel that never ends has no places at its end.
 */
static bool lists_all_places(const struct gpubpf_target_info *target, const struct gpubpf_job_request *req,
			     const struct gpubpf_kernel_info *info)
{
	const uint32_t ends = GPUBPF_SITE_BIT(EXIT) | GPUBPF_SITE_BIT(BLOCK_END);
	uint32_t requested = req->image.places | GPUBPF_SITE_BIT(ENTRY) | GPUBPF_SITE_BIT(EXIT);
	uint32_t supported = gpubpf_target_places(target, &req->caps) & requested & gpubpf_places_of(GPUBPF_WHERE_KERNEL);
	uint32_t listed = 0;

	for (uint32_t i = 0; i < info->nplaces; i++)
		listed |= 1u << info->places[i].kind;
	if (!(listed & ends))
		supported &= ~ends;
	return info->flags & GPUBPF_KINFO_FUNCTION || info->reason[0] || !(supported & ~listed);
}

static int inspect(const struct gpubpf_target_info *target, const struct gpubpf_job_request *req, struct gpubpf_result *res)
{
	int err = target->ops->inspect(&req->image, &req->caps, &res->kernels, &res->nkernels, &res->diag);

	for (uint32_t i = 0; !err && i < res->nkernels; i++) {
		struct gpubpf_kernel_info *info = &res->kernels[i];
		bool all = lists_all_places(target, req, info);

		assert(all);
		if (!all)
			snprintf(info->reason, sizeof(info->reason),
				 "%s did not list all places that it supports; this is a bug of gpubpf, please report "
				 "it",
				 target->name);
	}
	for (uint32_t i = 0; !err && target->machine && i < res->nkernels; i++)
		for (uint32_t k = 0; k < res->kernels[i].nplaces; k++) {
			struct gpubpf_place *place = &res->kernels[i].places[k];
			struct gpubpf_live live = target->ops->live(&res->kernels[i], place);

			place->free = live.most - (live.to - live.from);
		}
	return err;
}

static int inject(const struct gpubpf_target_info *target, const struct gpubpf_job_request *req, struct gpubpf_result *res)
{
	int err = check_places(target, &req->job, &res->diag);

	if (!err)
		err = check_limits(&req->job, &res->diag);
	if (!err)
		err = target->ops->inject(&req->image, &req->job, &req->opts, &res->twin, &res->diag);
	for (uint32_t i = 0; !err && i < res->twin.npieces; i++)
		err = validate(target, req, &res->twin.piece[i], &res->diag);
	return err;
}

static int query(const struct gpubpf_target_info *target, const struct gpubpf_job_request *req, struct gpubpf_result *res)
{
	if (!target->ops->query)
		return lacks(&res->diag, target->name, "query");
	return target->ops->query(&req->image, &req->caps, &res->twin, &res->diag);
}

static int run_target(const struct gpubpf_target_info *target, const struct gpubpf_job_request *req,
		      struct gpubpf_result *res)
{
	struct gpubpf_diag *diag = &res->diag;

	if (req->kind == GPUBPF_JOB_EMIT)
		return emit(target, req, res);
	if (!(target->images >> req->image.kind & 1))
		return lacks(diag, target->name, "accept images of this kind");
	if (req->kind == GPUBPF_JOB_INSPECT)
		return inspect(target, req, res);
	if (req->kind == GPUBPF_JOB_QUERY)
		return query(target, req, res);
	assert(req->kind == GPUBPF_JOB_INJECT);
	return inject(target, req, res);
}

static int run(struct server *s, const struct gpubpf_job_request *req, struct gpubpf_result *res)
{
	const struct gpubpf_target_info *target;

	if (req->kind == GPUBPF_JOB_BUILD) {
		if (!s->ops->build)
			return lacks(&res->diag, "build", "run");
		return s->ops->build(&req->caps, &req->pieces, &res->twin, s->log, sizeof(s->log), &res->diag);
	}
	if (req->kind == GPUBPF_JOB_ASSEMBLE) {
		if (!s->ops->assemble)
			return lacks(&res->diag, "assembler", "run");
		return s->ops->assemble(&req->assembly, &res->twin, s->log, sizeof(s->log), &res->diag);
	}
	target = find_target(s->ops, req->target);
	if (!target) {
		gpubpf_diag_set(&res->diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC,
				"this worker does not support the target %s", req->target);
		return -EOPNOTSUPP;
	}
	return run_target(target, req, res);
}

static void result_finish(struct gpubpf_result *res)
{
	free(res->blob.data);
	free(res->dump.data);
	free(res->kernels);
	gpubpf_twin_image_finish(&res->twin);
}

static int answer(struct server *s, const struct gpubpf_job_packet *job, const struct gpubpf_result *res)
{
	struct gpubpf_writer w = { 0 };
	struct gpubpf_job_packet out = { .type = job->type | GPUBPF_JOB_ANSWER, .seq = job->seq };
	int err = gpubpf_result_encode(res, &w);

	out.data = w.data;
	out.size = w.size;
	if (!err)
		err = gpubpf_job_packet_send(s->fd, &out);
	gpubpf_writer_finish(&w);
	return err;
}

static int work(struct server *s, const struct gpubpf_job_packet *packet, const struct gpubpf_job_request *req)
{
	struct gpubpf_result res = { .kind = req->kind, .log = s->log };
	struct gpubpf_dump dump = { .after = req->opts.after };
	struct gpubpf_job_request whole = *req;
	int err;

	s->log[0] = 0;
	gpubpf_diag_init(&res.diag);
	whole.job.dump = dump.after ? &dump : NULL;
	whole.job.cache = &s->cache;
	res.status = run(s, &whole, &res);
	res.dump = dump.code;
	if (res.status > 0)
		res.status = 0;
	err = answer(s, packet, &res);
	result_finish(&res);
	return err;
}

/* Sets a time limit 2 s above the tool's limit, in case the tool has ended and cannot kill this process. */
static void limit_time(const struct gpubpf_job_packet *packet)
{
	alarm(packet->timeout_ms / 1000 + 2);
}

struct forked {
	struct server *server;
	const struct gpubpf_job_packet *packet;
	const struct gpubpf_job_request *req;
};

static int work_forked(void *arg)
{
	const struct forked *a = arg;

	return work(a->server, a->packet, a->req) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/*
 * Runs the job in a fork. If a signal kills the fork, this process kills itself with the same signal, so that the tool
 * reports it.
 */
static int work_in_fork(struct server *s, const struct gpubpf_job_packet *packet, const struct gpubpf_job_request *req)
{
	struct forked a = { s, packet, req };
	int status, err = gpubpf_in_fork(work_forked, &a, &status);

	if (err < 0)
		return err;
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	return status ? -EIO : 0;
}

static bool needs_fork(const struct server *s, const struct gpubpf_job_request *req)
{
	const struct gpubpf_target_info *target = find_target(s->ops, req->target);

	return target && target->once && (req->kind == GPUBPF_JOB_EMIT || req->kind == GPUBPF_JOB_INJECT);
}

static int find_image(const struct server *s, struct gpubpf_image *image)
{
	if (!image->digest)
		return 0;
	image->data = s->image.data;
	image->size = s->image.size;
	return image->data ? 0 : -EBADMSG;
}

/* Handles one job: decodes the received packet, runs the job and sends the answer. */
static int serve_one(struct server *s, const struct gpubpf_job_packet *packet)
{
	struct gpubpf_pool pool = GPUBPF_POOL_INIT;
	struct gpubpf_job_request req;
	int err = gpubpf_job_request_decode(packet->data, packet->size, &pool, &req);

	if (!err && req.kind != packet->type)
		err = -EBADMSG;
	if (!err && GPUBPF_VALIDATE)
		req.opts.validate = true;
	if (!err)
		err = find_image(s, &req.image);
	if (!err)
		err = (needs_fork(s, &req) ? work_in_fork : work)(s, packet, &req);
	gpubpf_pool_finish(&pool);
	return err;
}

static void receive_image(struct server *s, struct gpubpf_job_packet *packet)
{
	gpubpf_job_packet_finish(&s->image);
	s->image = *packet;
	*packet = (struct gpubpf_job_packet){ 0 };
}

int gpubpf_worker_serve(int fd, const struct gpubpf_serve_ops *ops)
{
	static struct server server;
	struct gpubpf_job_packet packet = { 0 };
	struct gpubpf_diag diag;
	int n, err = 0;

	server.fd = fd;
	server.ops = ops;
	gpubpf_diag_init(&diag);
	if (ops->sandbox && ops->sandbox(&diag) < 0) {
		fprintf(stderr, "%s\n", diag.what);
		return EXIT_FAILURE;
	}
	while (!err && (n = gpubpf_job_packet_recv(fd, -1, &packet)) > 0) {
		if (packet.type == GPUBPF_JOB_IMAGE) {
			receive_image(&server, &packet);
			continue;
		}
		limit_time(&packet);
		err = serve_one(&server, &packet);
		alarm(0);
		gpubpf_job_packet_finish(&packet);
	}
	gpubpf_cache_finish(&server.cache);
	return err || n < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
