/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raises the tool's resource limits as far as permitted, and restores the original limits for the application, for
 * which the user set them.
 */
#include "cli.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#define ENOUGH_STACK ((rlim_t)8 << 20) /* bytes */

static struct {
	int resource;
	rlim_t enough;
	struct rlimit before;
} limits[] = {
	{ RLIMIT_NOFILE, RLIM_INFINITY, { 0 } }, /* each process and each device needs a file descriptor */
	/* shared memory consists of files in memory, to which the limit applies */
	{ RLIMIT_FSIZE, RLIM_INFINITY, { 0 } },
	{ RLIMIT_STACK, ENOUGH_STACK, { 0 } },
};
static struct sigaction size_before;

void cli_limits_raise(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit more;

		getrlimit(limits[i].resource, &limits[i].before);
		more = limits[i].before;
		if (more.rlim_cur >= limits[i].enough)
			continue;
		more.rlim_cur = more.rlim_max < limits[i].enough ? more.rlim_max : limits[i].enough;
		setrlimit(limits[i].resource, &more);
	}
	/* a write beyond RLIMIT_FSIZE then fails with EFBIG instead of killing the tool */
	sigaction(SIGXFSZ, &ignore, &size_before);
}

void cli_limits_restore(void)
{
	sigaction(SIGXFSZ, &size_before, NULL);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		setrlimit(limits[i].resource, &limits[i].before);
}

struct stack_job {
	int (*run)(int argc, char **argv);
	int argc;
	char **argv;
	int status;
};

static void *run_job(void *arg)
{
	struct stack_job *job = arg;

	job->status = job->run(job->argc, job->argv);
	return NULL;
}

int cli_run_with_stack(int (*run)(int argc, char **argv), int argc, char **argv)
{
	struct stack_job job = { .run = run, .argc = argc, .argv = argv };
	struct rlimit stack;
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all;
	bool started;

	if (getrlimit(RLIMIT_STACK, &stack) < 0 || stack.rlim_cur >= ENOUGH_STACK || pthread_attr_init(&attr))
		return run(argc, argv);
	started = !pthread_attr_setstacksize(&attr, ENOUGH_STACK) && !pthread_create(&thread, &attr, run_job, &job);
	pthread_attr_destroy(&attr);
	if (!started)
		return run(argc, argv);
	/*
	 * Block all signals in this thread. Then signals interrupt the system calls of the command's thread, as they
	 * would if there were only one thread.
	 */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	pthread_join(thread, NULL);
	return job.status;
}
