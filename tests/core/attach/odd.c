/* SPDX-License-Identifier: Apache-2.0 */
/*
 * odd KIND: a process to which gpubpf must refuse to attach, or to which attaching is difficult. Prints "ready", and
 * ends at SIGTERM.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void filter_calls(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(1);
}

/* Compute without a system call. */
static void spin(void)
{
	for (volatile unsigned long i = 0;; i++)
		;
}

static void *outlive_leader(void *arg)
{
	sleep(1);
	ready();
	pause();
	return NULL;
}

/* The thread group's leader ends; another thread lives on. */
static void end_leader(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, outlive_leader, NULL))
		pthread_exit(NULL);
}

static void handler(int signal)
{
	ready();
	pause();
}

/* The only thread sleeps in a signal handler. */
static void sleep_in_handler(void)
{
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
}

/* The parent sleeps in vfork(). */
static void sleep_in_vfork(void)
{
	ready();
	if (!vfork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sleep(3600);
		_exit(0);
	}
}

/* A child traces this process. */
static void be_traced(void)
{
	pid_t parent = getpid();

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (ptrace(PTRACE_SEIZE, parent, 0, 0))
			_exit(1);
		ready();
		for (int status; waitpid(parent, &status, __WALL) == parent && WIFSTOPPED(status);)
			ptrace(PTRACE_CONT, parent, 0, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
		_exit(0);
	}
}

static void lose_descriptors(void)
{
	struct rlimit limit = { 3, 3 };

	setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	if (!strcmp(kind, "seccomp"))
		filter_calls();
	if (!strcmp(kind, "nodump"))
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (!strcmp(kind, "descriptors"))
		lose_descriptors();
	if (!strcmp(kind, "leader"))
		end_leader();
	if (!strcmp(kind, "handler"))
		sleep_in_handler();
	if (!strcmp(kind, "vfork"))
		sleep_in_vfork();
	if (!strcmp(kind, "traced"))
		be_traced();
	else
		ready();
	if (!strcmp(kind, "spin"))
		spin();
	if (!strcmp(kind, "stopped"))
		raise(SIGSTOP);
	for (;;)
		pause();
}
