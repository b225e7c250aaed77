/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends the process of a worker, sends jobs to it, and limits their time. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/wire/checks.h"
#include "installed.h"
#include "spare.h"
#include "spawn.h"
#include "worker.h"

#define DEFAULT_TIMEOUT_MS 60000
#define DEFAULT_MEMORY (4ull << 30)
#define CANCEL_MS 20 /* interval in ms at which a worker that leaves its job looks whether it was cancelled */

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
	w->leaves = opts->leaves;
	w->reads_files = opts->reads_files;
	w->sock = -1;
	w->flight = -1;
	pthread_mutex_init(&w->lock, NULL);
	pthread_mutex_init(&w->pid_lock, NULL);
	*worker = w;
	return 0;
}

/* Stores the idle process for a later worker. Returns false if it cannot be stored. The caller holds pid_lock. */
static bool store_spare(struct gpubpf_worker *w)
{
	const struct gpubpf_spare spare = { w->pid, w->sock, w->jobs, w->memory, w->path };

	return !w->one_job && !w->leaves && !w->busy && gpubpf_spare_store(&spare);
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
	else if (!w->pid && (w->one_job || w->leaves || !take_spare(w))) {
		w->jobs = 0;
		err = gpubpf_worker_spawn(w->path, w->memory, w->leaves, &w->pid, &w->sock);
	}
	w->busy = !err;
	w->jobs += !err;
	pthread_mutex_unlock(&w->pid_lock);
	return err;
}

void gpubpf_worker_set_idle(struct gpubpf_worker *w)
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
	for (int i = 0; closed && !w->is_left && i < 50 && !got; i++) {
		got = waitpid(w->pid, &status, WNOHANG);
		if (!got)
			usleep(1000);
	}
	if (!got && !w->is_left)
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
	else if (w->pid && !w->is_left && !(w->is_left = gpubpf_worker_leave(w)))
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

const char *gpubpf_worker_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int report_death(struct gpubpf_worker *w, int err, struct gpubpf_diag *diag)
{
	const char *name = gpubpf_worker_base_name(w->path);
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

/*
 * Wait for the answer. No signal or end of file tells a worker that leaves its job that it was cancelled, so it looks at
 * intervals.
 */
static int receive(struct gpubpf_worker *w, struct gpubpf_job_packet *packet)
{
	int64_t left_ms = w->timeout_ms;
	int err;

	if (!w->leaves)
		return gpubpf_job_packet_recv(w->sock, w->timeout_ms, packet);
	do {
		int64_t slice_ms = left_ms < CANCEL_MS ? left_ms : CANCEL_MS;

		err = gpubpf_job_packet_recv(w->sock, slice_ms, packet);
		left_ms -= slice_ms;
	} while (err == -ETIMEDOUT && !w->cancelled && left_ms > 0);
	return err;
}

static int exchange(struct gpubpf_worker *w, const struct gpubpf_job_request *req, const struct gpubpf_writer *bytes,
		    struct gpubpf_job_answer *a)
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
	err = receive(w, &a->packet);
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
int gpubpf_worker_run(struct gpubpf_worker *w, const struct gpubpf_job_request *req, const struct gpubpf_writer *bytes,
		      struct gpubpf_job_answer *a, struct gpubpf_diag *diag)
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
		if (fresh || w->cancelled || (err != -EPIPE && err != -ECONNRESET))
			break;
		stop(w, true);
	}
	if (!err && w->one_job)
		stop(w, false);
	return err < 0 ? report_death(w, err, diag) : 0;
}
