/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Talks to the thread that the boot code has started. The tool reads and writes the shared file by system calls. It
 * does not map this file, because the process could shrink the file, and an access to a missing page would kill the
 * tool.
 */
#include "remote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define POLL_US 50

static int duplicate_fd(const struct remote *r, int fd)
{
	int own = syscall(SYS_pidfd_getfd, r->pidfd, fd, 0);

	return own < 0 ? -errno : own;
}

/* Like duplicate_fd(), for a memfd. The process chose the descriptor: a write to a pipe, for example, could block. */
static int duplicate_memfd(const struct remote *r, int fd)
{
	int own = duplicate_fd(r, fd);

	if (own >= 0 && fcntl(own, F_GET_SEALS) < 0) {
		close(own);
		return -EPROTO;
	}
	return own;
}

/* Find the descriptor of the shared file in the process. Returns its number, or -ENOENT. */
static int find_file(const struct remote *r, const char *name)
{
	char path[64], target[128];
	struct dirent *entry;
	int found = -ENOENT;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", r->pid, r->live);
	dir = opendir(path);
	while (dir && found < 0 && (entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		if (n <= 0)
			continue;
		target[n] = 0;
		if (!strncmp(target, "/memfd:", 7) && !strncmp(target + 7, name, strlen(name)) &&
		    target[7 + strlen(name)] == ' ')
			found = atoi(entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool read_data(int file, struct gpubpf_boot_data *data)
{
	return pread(file, data, sizeof(*data), 0) == sizeof(*data) && data->version == GPUBPF_BOOT_VERSION;
}

static void write_word(int file, size_t offset, uint32_t value)
{
	if (pwrite(file, &value, sizeof(value), offset) < 0)
		return; /* the process has shrunk and sealed its file; the thread gives up after its time limit */
}

/* Wait until the thread reaches a phase. 0, or -ETIMEDOUT. */
static int wait_phase(int file, uint32_t phase, struct gpubpf_boot_data *data, uint64_t deadline)
{
	for (;;) {
		if (read_data(file, data) && data->phase >= phase)
			return 0;
		if (remote_now_ns() > deadline)
			return -ETIMEDOUT;
		remote_sleep_us(POLL_US);
	}
}

/* Copy the library into the file that the thread has created. */
static int send_library(struct remote *r, const struct gpubpf_boot_data *data, const char *path)
{
	int from = open(path, O_RDONLY | O_CLOEXEC),
	    to = data->library < 0 ? data->library : duplicate_memfd(r, data->library);
	char *buffer = malloc(1 << 16);
	int err = from < 0 ? -errno : to < 0 ? to : buffer ? 0 : -ENOMEM;
	ssize_t n = 1;

	while (!err && n > 0) {
		n = read(from, buffer, 1 << 16);
		if (n < 0 || (n && write(to, buffer, n) != n))
			err = n < 0 ? -errno : -EIO;
	}
	if (err < 0)
		remote_fail(r, err, "%s cannot be copied into process %d: %s", path, r->pid, strerror(-err));
	free(buffer);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return err;
}

static int explain_result(struct remote *r, const struct gpubpf_boot_data *data)
{
	char error[sizeof(data->error)];

	snprintf(error, sizeof(error), "%.*s", (int)sizeof(data->error) - 1, data->error);
	for (char *c = error; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	if (error[0])
		return remote_fail(r, -ENOEXEC, "process %d: the agent did not start: %s", r->pid, error);
	return remote_fail(r, -ENOEXEC, "process %d: the agent did not start: %s", r->pid,
			   data->result < 0 && data->result > -4096 ? strerror(-data->result) :
								      "it returned no connection");
}

static int exchange(struct remote *r, const struct remote_boot *boot, int file, const char *library, uint64_t wait_ns)
{
	struct gpubpf_boot_data data = { 0 };
	uint64_t deadline = remote_now_ns() + wait_ns;
	int err = 0, sock;

	if (!boot->frame.entry) {
		err = wait_phase(file, BOOT_WAITS, &data, deadline);
		if (!err && data.phase == BOOT_WAITS) {
			err = send_library(r, &data, library);
			write_word(file, offsetof(struct gpubpf_boot_data, filled), err ? 2 : 1);
		}
	}
	while (!err && !(read_data(file, &data) && (data.socket >= 0 || data.phase == BOOT_DONE))) {
		if (remote_now_ns() > deadline)
			err = -ETIMEDOUT;
		remote_sleep_us(POLL_US);
	}
	if (err < 0)
		return err == -ETIMEDOUT ?
			       remote_fail(r, err,
					   "process %d: the agent did not start within %llu ms; the machine is busy, or "
					   "another thread holds the dynamic linker's lock; try again",
					   r->pid, (unsigned long long)wait_ns / 1000000) :
			       err;
	if (data.socket < 0) {
		write_word(file, offsetof(struct gpubpf_boot_data, taken), 1);
		return explain_result(r, &data);
	}
	sock = duplicate_fd(r, data.socket);
	write_word(file, offsetof(struct gpubpf_boot_data, taken), 1);
	if (sock < 0)
		return remote_fail(r, sock, "process %d: the tool cannot take over its connection: %s", r->pid,
				   strerror(-sock));
	wait_phase(file, BOOT_DONE, &data, deadline);
	return sock;
}

int remote_hand_over(struct remote *r, const struct remote_boot *boot, const char *library, uint64_t wait_ns)
{
	uint64_t deadline = remote_now_ns() + wait_ns;
	int fd = -ENOENT, file, ret;

	while (fd < 0 && remote_now_ns() < deadline) {
		fd = find_file(r, boot->name);
		if (fd < 0)
			remote_sleep_us(POLL_US);
	}
	file = fd < 0 ? fd : duplicate_memfd(r, fd);
	if (file < 0)
		return remote_fail(r, -ETIMEDOUT,
				   "process %d did not start the agent's thread; it may have no free descriptors, memory or "
				   "threads",
				   r->pid);
	ret = exchange(r, boot, file, library, wait_ns);
	close(file);
	return ret;
}
