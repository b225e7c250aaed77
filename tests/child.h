/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program and captures its output, for tests that compare runs with and without probes. */
#ifndef GPUBPF_TESTS_CHILD_H
#define GPUBPF_TESTS_CHILD_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct child {
	int status;              /* status from waitpid(2); -1: the child was killed after a timeout */
	char out[65536], err[8192];
	double seconds;
};

static void child_slurp(int fd, char *to, size_t size)
{
	ssize_t n = pread(fd, to, size - 1, 0);

	to[n < 0 ? 0 : n] = 0;
	close(fd);
}

static int child_wait(pid_t pid, int timeout_s)
{
	int status;

	for (int i = 0; i < timeout_s * 200; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		usleep(5000);
	}
	if (pid > 0)
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return -1;
}

/* Runs a child process. become() sets the environment in the child and executes the program. */
static void child_run(struct child *c, int timeout_s, void (*become)(const void *), const void *arg)
{
	int out = open("/tmp", O_TMPFILE | O_RDWR, 0600), err = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	struct timespec from, to;
	pid_t pid;

	clock_gettime(CLOCK_MONOTONIC, &from);
	pid = fork();
	if (!pid) {
		dup2(out, 1);
		dup2(err, 2);
		become(arg);
		_exit(126);
	}
	c->status = child_wait(pid, timeout_s);
	clock_gettime(CLOCK_MONOTONIC, &to);
	c->seconds = to.tv_sec - from.tv_sec + (to.tv_nsec - from.tv_nsec) / 1e9;
	child_slurp(out, c->out, sizeof(c->out));
	child_slurp(err, c->err, sizeof(c->err));
}

#endif
