/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rescues the maps of a process that was killed, or whose device failed. The session has a descriptor of the device's
 * memory. A helper process opens the device, and copies that memory into the mirror, because the tool has no GPU
 * context.
 */
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/worker/installed.h"
#include "core/worker/rescue.h"
#include "core/worker/spawn.h"

extern char **environ;

struct gpubpf_rescue {
	struct gpubpf_rescue *next;
	/* descriptor of the device's memory, and index of the arena whose mirror receives the data */
	int memory, arena;
	char name[sizeof(((struct gpubpf_device_caps *)0)->name)];
	char backend[sizeof(((struct gpubpf_device_caps *)0)->backend)];
	pid_t pid; /* process id of the helper; 0: not started yet */
	int pidfd;
};

/*
 * Start the helper, which gets the two descriptors under fixed numbers. Both are first duplicated to numbers of 16 or
 * more, so that neither dup2() overwrites a descriptor that is still needed.
 */
static int spawn_helper(const char *path, const char *backend, int memory, int mirror, pid_t *pid)
{
	char *argv[] = { (char *)path, (char *)backend, NULL }, **env = gpubpf_worker_environ();
	posix_spawn_file_actions_t actions;
	int high[2] = { fcntl(memory, F_DUPFD_CLOEXEC, 16), fcntl(mirror, F_DUPFD_CLOEXEC, 16) };
	int err = !env ? ENOMEM : high[0] < 0 || high[1] < 0 ? EMFILE : posix_spawn_file_actions_init(&actions);

	if (!err) {
		posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
		posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
		posix_spawn_file_actions_adddup2(&actions, high[0], GPUBPF_RESCUE_MEMORY);
		posix_spawn_file_actions_adddup2(&actions, high[1], GPUBPF_RESCUE_MIRROR);
		posix_spawn_file_actions_addclosefrom_np(&actions, GPUBPF_RESCUE_MIRROR + 1);
		err = posix_spawn(pid, path, &actions, NULL, argv, env);
		posix_spawn_file_actions_destroy(&actions);
	}
	free(env);
	for (int i = 0; i < 2; i++)
		if (high[i] >= 0)
			close(high[i]);
	return -err;
}

static int start_rescue(struct gpubpf_session *s, struct gpubpf_rescue *r)
{
	char path[512] = "";
	int err;

	gpubpf_reader_run(s, false); /* read records first, so that the device's rings have space */
	if (s->opts.worker_dir)
		snprintf(path, sizeof(path), "%s/gpubpf-rescue", s->opts.worker_dir);
	else
		gpubpf_worker_find("gpubpf-rescue", path, sizeof(path));
	err = spawn_helper(path, r->backend, r->memory, gpubpf_arena_at(s, r->arena)->fd, &r->pid);
	if (err < 0)
		return err;
	r->pidfd = syscall(SYS_pidfd_open, r->pid, 0);
	err = r->pidfd < 0 ? -errno : gpubpf_server_watch_rescue(s, r->pidfd);
	if (err < 0)
		kill(r->pid, SIGKILL);
	return err;
}

/* Remove the first rescue from the queue, and report its result as a note. */
static void end_rescue(struct gpubpf_session *s, int err)
{
	struct gpubpf_rescue *r = s->server->rescues;
	int status = 0;

	while (r->pid && waitpid(r->pid, &status, 0) < 0)
		if (errno != EINTR)
			status = -1;
	if (!err && status)
		err = -EIO;
	if (err < 0)
		gpubpf_session_note(s,
				    "%s: the application ended before its maps were copied back, and they could not "
				    "be read from the device's memory (%s)",
				    r->name, strerror(-err));
	else
		gpubpf_session_note(s,
				    "%s: the application could not copy its maps back; they were read from the "
				    "device's memory",
				    r->name);
	s->server->rescues = r->next;
	if (r->pidfd >= 0)
		close(r->pidfd);
	close(r->memory);
	free(r);
}

/* Start the first rescue of the queue. Only one runs at a time, because each opens a GPU. */
static void start_first(struct gpubpf_session *s)
{
	int err;

	while (s->server->rescues && (err = start_rescue(s, s->server->rescues)) < 0)
		end_rescue(s, err);
}

void gpubpf_rescue_ended(struct gpubpf_session *s)
{
	if (!s->server->rescues)
		return;
	end_rescue(s, 0);
	start_first(s);
}

void gpubpf_rescues_finish(struct gpubpf_session *s)
{
	uint64_t until = gpubpf_now_ns() + GPUBPF_RESCUE_S * 1000000000ull;

	while (s->server->rescues) {
		struct pollfd p = { s->server->rescues->pidfd, POLLIN, 0 };
		uint64_t now = gpubpf_now_ns();
		int n = poll(&p, 1, now < until ? (until - now) / 1000000 + 1 : 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			kill(s->server->rescues->pid, SIGKILL);
		gpubpf_rescue_ended(s);
	}
}

void gpubpf_rescue(struct gpubpf_session *s, struct gpubpf_session_device *dev)
{
	struct gpubpf_rescue *r, **at = &s->server->rescues;

	if (dev->memory_fd < 0 || dev->arena < 0)
		return;
	r = calloc(1, sizeof(*r));
	if (!r) {
		close(dev->memory_fd);
		dev->memory_fd = -1;
		return;
	}
	r->memory = dev->memory_fd;
	r->arena = dev->arena;
	r->pidfd = -1;
	memcpy(r->name, dev->caps.name, sizeof(r->name));
	memcpy(r->backend, dev->caps.backend, sizeof(r->backend));
	dev->memory_fd = -1;
	dev->rescued = true;
	while (*at)
		at = &(*at)->next;
	*at = r;
	if (s->server->rescues == r)
		start_first(s);
}
