/* SPDX-License-Identifier: Apache-2.0 */
/* Access to another process: its memory, mappings and status. All come from /proc and system calls, none from files of
 * the process, which may have other mounts. */
#include "remote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

uint64_t remote_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

void remote_sleep_us(unsigned int us)
{
	struct timespec t = { .tv_nsec = us * 1000l };

	nanosleep(&t, NULL);
}

int remote_fail(struct remote *r, int err, const char *format, ...)
{
	va_list args;

	if (!r->why[0]) {
		va_start(args, format);
		vsnprintf(r->why, r->size, format, args);
		va_end(args);
	}
	return err;
}

int remote_read(const struct remote *r, uint64_t address, void *to, size_t size)
{
	struct iovec local = { to, size }, remote = { (void *)address, size };
	ssize_t n = process_vm_readv(r->live, &local, 1, &remote, 1, 0);

	return n == (ssize_t)size ? 0 : n < 0 ? -errno : -EFAULT;
}

int remote_write(const struct remote *r, uint64_t address, const void *from, size_t size)
{
	struct iovec local = { (void *)from, size }, remote = { (void *)address, size };
	ssize_t n = process_vm_writev(r->live, &local, 1, &remote, 1, 0);

	return n == (ssize_t)size ? 0 : n < 0 ? -errno : -EFAULT;
}

int remote_write_code(const struct remote *r, uint64_t address, const void *from, size_t size)
{
	ssize_t n = pwrite(r->mem, from, size, address);

	return n == (ssize_t)size ? 0 : n < 0 ? -errno : -EFAULT;
}

bool remote_status(const struct remote *r, pid_t tid, const char *field, char *value, size_t size)
{
	size_t length = strlen(field);
	char path[64], line[512];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", r->pid, tid);
	f = fopen(path, "re");
	value[0] = 0;
	while (f && !found && fgets(line, sizeof(line), f)) {
		found = !strncmp(line, field, length) && line[length] == ':';
		if (found) {
			const char *at = line + length + 1;

			at += strspn(at, " \t");
			snprintf(value, size, "%.*s", (int)strcspn(at, "\n"), at);
		}
	}
	if (f)
		fclose(f);
	return found;
}

/* Returns a thread that is not a zombie, or 0. */
static pid_t find_live_thread(const struct remote *r)
{
	char path[64], state[64];
	struct dirent *entry;
	pid_t live = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", r->pid);
	dir = opendir(path);
	while (dir && !live && (entry = readdir(dir))) {
		pid_t tid = atoi(entry->d_name);

		if (tid && remote_status(r, tid, "State", state, sizeof(state)) && state[0] != 'Z' && state[0] != 'X')
			live = tid;
	}
	if (dir)
		closedir(dir);
	return live;
}

static void free_maps(struct remote *r)
{
	for (size_t i = 0; i < r->nmaps; i++)
		free(r->maps[i].path);
	free(r->maps);
	r->maps = NULL;
	r->nmaps = 0;
}

static int add_map(struct remote *r, char *line)
{
	struct remote_map *maps = r->maps, *m;
	int at = 0;

	if (!(r->nmaps & (r->nmaps - 1))) {
		maps = reallocarray(maps, r->nmaps ? 2 * r->nmaps : 1, sizeof(*maps));
		if (!maps)
			return -ENOMEM;
		r->maps = maps;
	}
	m = &maps[r->nmaps];
	if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %n", &m->from, &m->to, m->flags, &m->offset, &at) < 4)
		return 0;
	line[strcspn(line, "\n")] = 0;
	m->path = strdup(at ? line + at : "");
	if (!m->path)
		return -ENOMEM;
	r->nmaps++;
	return 0;
}

int remote_read_maps(struct remote *r)
{
	char path[64], *line = NULL;
	size_t size = 0;
	int err = 0;
	FILE *f;

	free_maps(r);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/maps", r->pid, r->live);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (!err && getline(&line, &size, f) > 0)
		err = add_map(r, line);
	free(line);
	fclose(f);
	return err;
}

const struct remote_map *remote_find_map(const struct remote *r, uint64_t address)
{
	for (size_t i = 0; i < r->nmaps; i++)
		if (address >= r->maps[i].from && address < r->maps[i].to)
			return &r->maps[i];
	return NULL;
}

const struct remote_map *remote_find_file(const struct remote *r, const char *name)
{
	for (size_t i = 0; i < r->nmaps; i++) {
		const char *slash = strrchr(r->maps[i].path, '/');

		if (slash && !strncmp(slash + 1, name, strlen(name)))
			return &r->maps[i];
	}
	return NULL;
}

/* Called if the main thread has ended. It has no descriptors any more, so make pidfd refer to a live thread. */
static int use_thread(struct remote *r)
{
	int fd = syscall(SYS_pidfd_open, r->live, PIDFD_THREAD);

	if (fd < 0)
		return remote_fail(r, -EOPNOTSUPP,
				   "process %d: its main thread has ended; to attach to such a process, gpubpf needs Linux 6.9",
				   r->pid);
	close(r->pidfd);
	r->pidfd = fd;
	return 0;
}

int remote_open(struct remote *r, pid_t pid, char *why, size_t size)
{
	char path[64];
	int err = 0;

	*r = (struct remote){ .pid = pid, .pidfd = -1, .mem = -1, .why = why, .size = size };
	why[0] = 0;
	r->pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (r->pidfd < 0)
		return remote_fail(r, -errno, "process %d: %s", pid, errno == ESRCH ? "no such process" : strerror(errno));
	r->live = find_live_thread(r);
	if (!r->live)
		return remote_fail(r, -ESRCH, "process %d has ended; its parent has not collected it yet", pid);
	if (r->live != pid)
		err = use_thread(r);
	if (err < 0)
		return err;
	err = remote_check_process(r);
	if (err < 0)
		return err;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/mem", pid, r->live);
	r->mem = open(path, O_RDWR | O_CLOEXEC);
	return r->mem < 0 ? remote_explain_access(r, -errno) : 0;
}

void remote_close(struct remote *r)
{
	free_maps(r);
	if (r->mem >= 0)
		close(r->mem);
	if (r->pidfd >= 0)
		close(r->pidfd);
}
