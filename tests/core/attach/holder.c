/* SPDX-License-Identifier: Apache-2.0 */
/* A process continues if the tool is stopped or killed while it holds the threads, or if the holder does not end. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/attach/remote.h"
#include "tests/tap.h"

#define THREADS 3
#define TRIES 100 /* each takes about 1 s */
#define LIMIT_MS 120000 /* a busy machine */

static struct {
	atomic_ulong count[THREADS];
	atomic_bool was_held; /* fn ran while all threads were stopped */
	int result;
	uint64_t stopped;
	char why[256];
} *shared;

static void nap(void)
{
	nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

static void *run_thread(void *arg)
{
	for (;; nap())
		atomic_fetch_add((atomic_ulong *)arg, 1);
	return NULL;
}

static void become_victim(void)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 1; i < THREADS; i++)
		pthread_create(&thread, NULL, run_thread, &shared->count[i]);
	run_thread(&shared->count[0]);
}

/* Returns true if each thread of the victim runs. */
static bool is_running(void)
{
	unsigned long before[THREADS];
	bool runs = false;

	for (int i = 0; i < THREADS; i++)
		before[i] = shared->count[i];
	for (int ms = 0; ms < LIMIT_MS && !runs; ms++) {
		nap();
		runs = true;
		for (int i = 0; i < THREADS; i++)
			runs &= shared->count[i] > before[i];
	}
	return runs;
}

struct act {
	pid_t tool; /* the tool, its process group (negative), or the holder (0) */
	int signal;
	int result;
};

static int act(struct remote *r, const struct remote_thread *threads, size_t n, void *arg)
{
	const struct act *a = arg;
	bool all = n >= THREADS;

	for (size_t i = 0; i < n; i++)
		all &= threads[i].stopped;
	shared->was_held = all;
	if (a->signal)
		kill(a->tool ? a->tool : getpid(), a->signal);
	nap();
	return a->result < 0 ? remote_fail(r, a->result, "because of %d", a->result) : a->result;
}

static void become_tool(pid_t victim, bool group, bool holder, int signal, int result)
{
	struct act a = { 0, signal, result };
	struct remote r;

	setpgid(0, 0);
	a.tool = holder ? 0 : group ? -getpid() : getpid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	shared->result = remote_open(&r, victim, shared->why, sizeof(shared->why));
	if (!shared->result)
		shared->result = remote_with_threads(&r, true, act, &a, &shared->stopped);
	remote_close(&r);
	_exit(0);
}

static int run_once(pid_t victim, bool group, bool holder, int signal, int result, pid_t *tool)
{
	int status = 0;

	shared->why[0] = 0;
	shared->was_held = false;
	shared->stopped = 0;
	shared->result = 1;
	*tool = fork();
	if (!*tool)
		become_tool(victim, group, holder, signal, result);
	waitpid(*tool, &status, WUNTRACED);
	return status;
}

/*
 * Start a tool, and wait until it ends or stops. Start another if the threads did not stop in time, as on a busy machine.
 * Returns its wait status.
 */
static int run_tool(pid_t victim, bool group, bool holder, int signal, int result, pid_t *tool)
{
	int status = run_once(victim, group, holder, signal, result, tool);

	for (int i = 0; i < TRIES && !shared->was_held; i++)
		status = run_once(victim, group, holder, signal, result, tool);
	return status;
}

static void check_stop(pid_t victim, bool group)
{
	const char *what = group ? "the tool's process group" : "the tool";
	pid_t tool;
	int status = run_tool(victim, group, false, SIGSTOP, 0, &tool);

	ok(WIFSTOPPED(status) && shared->was_held, "SIGSTOP stops %s while it holds threads", what);
	ok(is_running(), "the threads continue while %s is stopped", what);
	kill(tool, SIGCONT);
	waitpid(tool, &status, 0);
	ok(WIFEXITED(status) && shared->result == 0, "the tool finishes its work after SIGCONT");
}

/* On a busy machine, the time limit can pass before the tool has tried a thread. */
static void check_deadline(pid_t victim)
{
	struct remote_thread thread;
	char why[256] = "";
	struct remote r;
	int err = remote_open(&r, victim, why, sizeof(why));

	if (!err)
		err = remote_stop_one(&r, &thread, 0);
	remote_close(&r);
	ok(err == -ETIMEDOUT && strstr(why, "try again"),
	   "if no thread was tried in time, the tool advises to try again: %s", why);
}

int main(void)
{
	pid_t victim, tool;
	int status;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	victim = fork();
	if (!victim)
		become_victim();
	ok(is_running(), "the victim runs");
	run_tool(victim, false, false, 0, 7, &tool);
	ok(shared->result == 7 && shared->was_held && shared->stopped > 1000000,
	   "the tool gets the result and the time of the stop: %d, %lu ns", shared->result,
	   (unsigned long)shared->stopped);
	run_tool(victim, false, false, 0, -EIO, &tool);
	ok(shared->result == -EIO && !strcmp(shared->why, "because of -5"), "the tool gets the reason: %s", shared->why);
	check_deadline(victim);
	check_stop(victim, false);
	check_stop(victim, true);
	status = run_tool(victim, false, false, SIGKILL, 0, &tool);
	ok(WIFSIGNALED(status) && shared->was_held && is_running(), "the threads continue after the tool was killed");
	run_tool(victim, false, true, SIGSTOP, 0, &tool);
	ok(shared->result == -EAGAIN && shared->was_held && strstr(shared->why, "was killed") && is_running(),
	   "if the holder stops, the tool kills it, and the threads continue: %s", shared->why);
	run_tool(victim, false, true, SIGKILL, 0, &tool);
	ok(shared->result == -EAGAIN && strstr(shared->why, "try again") && is_running(),
	   "if the holder is killed, the threads continue: %s", shared->why);
	ok(waitpid(victim, &status, WNOHANG) == 0, "the victim lives");
	kill(victim, SIGKILL);
	return done();
}
