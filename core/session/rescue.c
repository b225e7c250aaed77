/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps of a process that was killed, or whose device failed it: a helper of our own opens the device and copies
 * the memory that we were given to hold into the mirror. The tool itself has no GPU context.
 */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/worker/rescue.h"
#include "core/worker/spawn.h"

#define RESCUE_MS 20000

extern char **environ;

/* Both descriptors must be out of the way of the numbers that the helper has them at. */
static int spawn(const char *path, const char *backend, int memory, int mirror, pid_t *pid)
{
	char *argv[] = { (char *)path, (char *)backend, NULL };
	posix_spawn_file_actions_t actions;
	int high[2] = { fcntl(memory, F_DUPFD_CLOEXEC, 16), fcntl(mirror, F_DUPFD_CLOEXEC, 16) };
	int err = high[0] < 0 || high[1] < 0 ? EMFILE : posix_spawn_file_actions_init(&actions);

	if (!err) {
		posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
		posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
		posix_spawn_file_actions_adddup2(&actions, high[0], GPUBPF_RESCUE_MEMORY);
		posix_spawn_file_actions_adddup2(&actions, high[1], GPUBPF_RESCUE_MIRROR);
		posix_spawn_file_actions_addclosefrom_np(&actions, GPUBPF_RESCUE_MIRROR + 1);
		err = posix_spawn(pid, path, &actions, NULL, argv, environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	for (int i = 0; i < 2; i++)
		if (high[i] >= 0)
			close(high[i]);
	return -err;
}

/* 0 if it ended well in time. */
static int wait_for(pid_t pid)
{
	int fd = syscall(SYS_pidfd_open, pid, 0), status = -1;
	struct pollfd p = { fd, POLLIN, 0 };

	if (fd < 0 || poll(&p, 1, RESCUE_MS) != 1)
		kill(pid, SIGKILL);
	if (fd >= 0)
		close(fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status ? -EIO : 0;
}

void gpubpf_rescue(struct gpubpf_session *s, struct gpubpf_session_device *dev)
{
	char path[512] = "";
	pid_t pid;
	int err;

	if (dev->kept_fd < 0 || dev->arena < 0)
		return;
	gpubpf_reader_run(s, false); /* rings of the mirror take what the device's hold */
	if (s->opts.worker_dir)
		snprintf(path, sizeof(path), "%s/gpubpf-rescue", s->opts.worker_dir);
	else
		gpubpf_worker_find("gpubpf-rescue", path, sizeof(path));
	err = spawn(path, dev->caps.backend, dev->kept_fd, s->arenas[dev->arena].fd, &pid);
	if (!err)
		err = wait_for(pid);
	if (err < 0)
		gpubpf_session_note(s, "%s: its program ended before its maps were copied back, and they could not be "
				    "read afterwards (%s)", dev->caps.name, strerror(-err));
	else
		gpubpf_session_note(s, "%s: its program could not copy its maps back; they were read from the device's "
				    "memory", dev->caps.name);
	close(dev->kept_fd);
	dev->kept_fd = -1;
}
