/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves a job that runs to another process when the session ends, so that the next session finds its result in the
 * cache. A file in the cache's folder is locked while a job runs. The lock belongs to the open file, which the other
 * process inherits. So a later session waits for the result, and does not run the same job again.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "core/wire/files/blob_store.h"
#include "spawn.h"
#include "worker.h"

#define SLICE_MS 100  /* interval in ms at which the process looks whether the session has received the answer itself */
#define LOCK_MS 10    /* interval in ms at which a job looks whether it may run */
#define SUFFIX ".lock"
#define NAME_SIZE (2 * GPUBPF_RESULT_CACHE_KEY + sizeof(SUFFIX))

static void nap_ms(long ms)
{
	const struct timespec t = { 0, ms * 1000000 };

	nanosleep(&t, NULL);
}

static void lock_name(const uint8_t key[GPUBPF_RESULT_CACHE_KEY], char name[NAME_SIZE])
{
	for (int i = 0; i < GPUBPF_RESULT_CACHE_KEY; i++)
		snprintf(name + 2 * i, 3, "%02x", key[i]);
	memcpy(name + 2 * GPUBPF_RESULT_CACHE_KEY, SUFFIX, sizeof(SUFFIX));
}

static int open_lock(const struct gpubpf_worker *w)
{
	int dir = gpubpf_blob_open_dir(w->cache_dir, true), fd;
	char name[NAME_SIZE];

	if (dir < 0)
		return -1;
	lock_name(w->key, name);
	fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	close(dir);
	return fd;
}

bool gpubpf_worker_begin_flight(struct gpubpf_worker *w)
{
	int64_t left_ms = w->timeout_ms;
	int fd = open_lock(w);

	if (fd < 0)
		return false;
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK || w->cancelled || left_ms <= 0) {
			close(fd);
			return false;
		}
		nap_ms(LOCK_MS);
		left_ms -= LOCK_MS;
	}
	pthread_mutex_lock(&w->pid_lock);
	w->flight = fd;
	pthread_mutex_unlock(&w->pid_lock);
	return true;
}

/* Remove the file and unlock it. A job that has opened it before locks it too, so another job may run at the same time. */
static void remove_lock(const struct gpubpf_worker *w, int fd)
{
	int dir = gpubpf_blob_open_dir(w->cache_dir, false);
	char name[NAME_SIZE];

	lock_name(w->key, name);
	if (dir >= 0) {
		unlinkat(dir, name, 0);
		close(dir);
	}
	close(fd);
}

void gpubpf_worker_end_flight(struct gpubpf_worker *w)
{
	pthread_mutex_lock(&w->pid_lock);
	if (w->flight >= 0 && w->is_left)
		close(w->flight);
	else if (w->flight >= 0)
		remove_lock(w, w->flight);
	w->flight = -1;
	pthread_mutex_unlock(&w->pid_lock);
}

static bool is_stored(const struct gpubpf_worker *w)
{
	size_t size;
	void *data = gpubpf_result_cache_get(w->cache_dir, w->key, &size);

	free(data);
	return data;
}

/* Wait for the answer, and store it as run_and_store() does. */
static void finish_job(const struct gpubpf_worker *w, int sock)
{
	struct gpubpf_job_answer a = { 0 };
	int64_t left_ms = w->timeout_ms;
	int n;

	do {
		n = gpubpf_job_packet_recv(sock, SLICE_MS, &a.packet);
		left_ms -= SLICE_MS;
	} while (n == -ETIMEDOUT && left_ms > 0 && !is_stored(w));
	if (n == 1 && a.packet.type == (w->kind | GPUBPF_JOB_ANSWER) &&
	    !gpubpf_result_decode(a.packet.data, a.packet.size, &a.pool, &a.res) && a.res.kind == w->kind && !a.res.status)
		gpubpf_result_cache_put(w->cache_dir, w->key, a.packet.data, a.packet.size, GPUBPF_RESULT_CACHE_BOUND);
	kill(-w->pid, SIGKILL);
}

/*
 * The new process closes the session's descriptors: agents take the end of their connection for the end of the session.
 * Callers may wait until the session's standard output closes.
 */
static _Noreturn void run_left(const struct gpubpf_worker *w)
{
	enum { SOCK = 3, FLIGHT = 4 };
	int null, sock, flight;
	sigset_t none;

	alarm(w->timeout_ms / 1000 + 2);
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	sock = fcntl(w->sock, F_DUPFD, 10);
	flight = fcntl(w->flight, F_DUPFD, 10);
	null = open("/dev/null", O_RDWR);
	for (int i = 0; null >= 0 && i < 3; i++)
		dup2(null, i);
	if (null < 0 || sock < 0 || flight < 0 || dup2(sock, SOCK) < 0 || dup2(flight, FLIGHT) < 0)
		_exit(1);
	close_range(FLIGHT + 1, ~0u, 0);
	finish_job(w, SOCK);
	remove_lock(w, FLIGHT);
	_exit(0);
}

bool gpubpf_worker_leave(struct gpubpf_worker *w)
{
	pid_t pid;

	if (!w->leaves || !w->busy || w->flight < 0)
		return false;
	pid = fork();
	if (!pid)
		run_left(w);
	return pid > 0;
}
