/* SPDX-License-Identifier: Apache-2.0 */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void gpubpf_worker_identity(const char *path, char *buf, size_t size)
{
	struct stat st = { 0 };

	stat(path, &st);
	snprintf(buf, size, "%s %lld %lld.%09ld", path, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
		 st.st_mtim.tv_nsec);
}

/* Limits the child's address space. The child has not started working yet, because it waits for its first job. */
static void limit_memory(pid_t pid, uint64_t memory)
{
	struct rlimit limit = { memory, memory };

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* sanitizers map terabytes */
	if (memory != UINT64_MAX)
		prlimit(pid, RLIMIT_AS, &limit, NULL);
#endif
	(void)limit;
}

/*
 * Does a worker inherit the environment variable? Not if the variable would load other code or the agent of a session
 * into the worker. The library path is inherited.
 */
static bool is_inherited(const char *entry)
{
	return !strncmp(entry, "LD_LIBRARY_PATH=", 16) ||
	       (strncmp(entry, "LD_", 3) && strncmp(entry, "OPENCL_LAYERS=", 14) && strncmp(entry, "GPUBPF_SESSION=", 15));
}

char **gpubpf_worker_environ(void)
{
	size_t n = 0, at = 0;
	char **env;

	while (environ[n])
		n++;
	env = malloc((n + 1) * sizeof(*env));
	for (size_t i = 0; env && i < n; i++)
		if (is_inherited(environ[i]))
			env[at++] = environ[i];
	if (env)
		env[at] = NULL;
	return env;
}

static int spawn_with(const char *path, int sock, bool is_quiet, pid_t *pid)
{
	char *argv[] = { (char *)path, NULL }, **env = gpubpf_worker_environ();
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int err;

	if (!env)
		return -ENOMEM;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	/*
	 * In a separate process group, Ctrl-C in the terminal does not reach the worker, and the tool can kill the
	 * worker with all its children.
	 */
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	/*
	 * The worker must not use the application's standard input and output. Its standard input is /dev/null. Its
	 * standard output, on which vendors' compilers print, is standard error.
	 */
	err = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!err && is_quiet)
		err = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, sock, GPUBPF_WORKER_FD);
	if (!err)
		err = posix_spawn_file_actions_addclosefrom_np(&actions, GPUBPF_WORKER_FD + 1);
	if (!err)
		err = posix_spawn(pid, path, &actions, &attr, argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	free(env);
	return -err;
}

int gpubpf_worker_spawn(const char *path, uint64_t memory, bool is_quiet, pid_t *pid, int *sock)
{
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	if (pair[1] == GPUBPF_WORKER_FD) { /* dup2() to the same descriptor would not clear close-on-exec */
		pair[1] = dup(pair[1]);
		close(GPUBPF_WORKER_FD);
		if (pair[1] < 0) {
			err = -errno;
			close(pair[0]);
			return err;
		}
	}
	err = spawn_with(path, pair[1], is_quiet, pid);
	close(pair[1]);
	if (err < 0) {
		close(pair[0]);
		return err;
	}
	limit_memory(*pid, memory);
	*sock = pair[0];
	return 0;
}

int gpubpf_worker_end(pid_t pid)
{
	int status = 0;

	kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}
