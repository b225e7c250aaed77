/* SPDX-License-Identifier: Apache-2.0 */
#include "spawn.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* folder of a file, "" if there is none */
static void folder_of(const char *file, char dir[PATH_MAX])
{
	char *slash;

	snprintf(dir, PATH_MAX, "%s", file);
	slash = strrchr(dir, '/');
	if (slash)
		*slash = 0;
	else
		dir[0] = 0;
}

static bool try(const char *dir, const char *below, const char *name, char *path, size_t size)
{
	if (!dir[0] || (size_t)snprintf(path, size, "%s/%s%s", dir, below, name) >= size)
		return false;
	return access(path, X_OK) == 0;
}

/* next to `dir`, or, in a build tree, in core/worker of one of the folders above it */
static bool try_around(const char *dir, const char *name, char *path, size_t size)
{
	static const char *const below[] = { "", "core/worker/", "../core/worker/", "../../core/worker/" };

	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++)
		if (try(dir, below[i], name, path, size))
			return true;
	return false;
}

int gpubpf_worker_find(const char *name, char *path, size_t size)
{
	char exe[PATH_MAX], dir[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	Dl_info info;

	if (n > 0) {
		exe[n] = 0;
		folder_of(exe, dir);
		if (try_around(dir, name, path, size))
			return 0;
	}
	if (dladdr((void *)gpubpf_worker_find, &info) && info.dli_fname) {
		folder_of(info.dli_fname, dir);
		if (try_around(dir, name, path, size))
			return 0;
	}
	return try(GPUBPF_LIBEXECDIR, "", name, path, size) ? 0 : -ENOENT;
}

void gpubpf_worker_identity(const char *path, char *buf, size_t size)
{
	struct stat st = {0};

	stat(path, &st);
	snprintf(buf, size, "%s %lld %lld.%09ld", path, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
		 st.st_mtim.tv_nsec);
}

/* Limit before the first job: the child does nothing until one comes. */
static void limit_memory(pid_t pid, uint64_t memory)
{
	struct rlimit limit = { memory, memory };

#ifndef __SANITIZE_ADDRESS__ /* which maps terabytes */
	if (memory != UINT64_MAX)
		prlimit(pid, RLIMIT_AS, &limit, NULL);
#endif
	(void)limit;
}

static int spawn_with(const char *path, int sock, pid_t *pid)
{
	char *argv[] = { (char *)path, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int err;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	/* a group of its own: Ctrl-C is the tool's to handle, and it can be ended with all that it forks */
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	/* the application's input and output are its own: nothing to read, and what a vendor's compiler
	 * prints goes to standard error */
	err = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, sock, GPUBPF_WORKER_FD);
	if (!err)
		err = posix_spawn_file_actions_addclosefrom_np(&actions, GPUBPF_WORKER_FD + 1);
	if (!err)
		err = posix_spawn(pid, path, &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

int gpubpf_worker_spawn(const char *path, uint64_t memory, pid_t *pid, int *sock)
{
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	if (pair[1] == GPUBPF_WORKER_FD) { /* dup2 onto itself would keep close-on-exec */
		pair[1] = dup(pair[1]);
		close(GPUBPF_WORKER_FD);
		if (pair[1] < 0) {
			err = -errno;
			close(pair[0]);
			return err;
		}
	}
	err = spawn_with(path, pair[1], pid);
	close(pair[1]);
	if (err < 0) {
		close(pair[0]);
		return err;
	}
	limit_memory(*pid, memory);
	*sock = pair[0];
	return 0;
}
