/* SPDX-License-Identifier: Apache-2.0 */
/* caller.h where this process itself calls. */
#include "loader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct caller_state *caller_state(void)
{
	static struct caller_state state;

	return &state;
}

static void *at(uint64_t pointer)
{
	return (void *)(uintptr_t)pointer;
}

int caller_read(void *to, uint64_t from, size_t size)
{
	if (size && !from)
		return -EFAULT;
	if (size)
		memcpy(to, at(from), size);
	return 0;
}

int caller_write(uint64_t to, const void *from, size_t size)
{
	if (size && !to)
		return -EFAULT;
	if (size)
		memcpy(at(to), from, size);
	return 0;
}

int caller_text(char *to, uint64_t from, size_t room)
{
	size_t n = from ? strnlen(at(from), room) : 0;

	if (!from || n == room)
		return from ? -ENAMETOOLONG : -EFAULT;
	memcpy(to, at(from), n + 1);
	return 0;
}

void caller_proc(const char *what, char path[PROC_SIZE])
{
	snprintf(path, PROC_SIZE, "/proc/self/%s", what);
}

void caller_link(int fd, char path[PROC_SIZE])
{
	snprintf(path, PROC_SIZE, "/proc/self/fd/%d", fd);
}

int caller_borrow(int fd)
{
	return fd < 0 ? -EBADF : fd;
}

void caller_give_back(int borrowed)
{
	(void)borrowed;
}

int caller_replace(int fd, int by)
{
	return dup3(by, fd, O_CLOEXEC) < 0 ? -errno : 0;
}

int caller_lend(int fd)
{
	return fd;
}

void caller_take_back(int lent)
{
	(void)lent;
}

int caller_path(const char *path, char out[PATH_MAX])
{
	return snprintf(out, PATH_MAX, "%s", path) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

long kernel_bpf(int cmd, const void *attr, size_t size)
{
	return kernel_call(SYS_bpf, (const long[6]){ cmd, (long)attr, (long)size });
}

long caller_mmap(const long arg[6])
{
	return kernel_call(SYS_mmap, arg);
}

long pass(struct call *c)
{
	return pass_unknown(c->cmd, c->user, c->size);
}

long pass_map_of(struct call *c)
{
	return pass(c);
}

long pass_unknown(int cmd, uint64_t attr, unsigned int size)
{
	return kernel_bpf(cmd, at(attr), size);
}

long pass_perf(const long arg[6], const struct perf_event_attr *attr, const char *function)
{
	(void)attr, (void)function;
	return kernel_call(SYS_perf_event_open, arg);
}
