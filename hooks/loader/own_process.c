/* SPDX-License-Identifier: Apache-2.0 */
/* Implements struct caller_ops for calls that this process makes. */
#include "loader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096u

static struct caller_state *own_state(void)
{
	static struct caller_state state;

	return &state;
}

static void *to_pointer(uint64_t pointer)
{
	return (void *)(uintptr_t)pointer;
}

/*
 * Copy by process_vm_readv(2) or process_vm_writev(2), which return an error for an invalid pointer. If a sandbox
 * forbids these calls, copy directly.
 */
static int copy_memory(long call, void *ours, uint64_t theirs, size_t size)
{
	const struct iovec here = { ours, size }, there = { to_pointer(theirs), size };
	long n = kernel_call(call, (const long[6]){ getpid(), (long)&here, 1, (long)&there, 1, 0 });

	if (!size || n == (long)size)
		return 0;
	if (n != -EPERM && n != -ENOSYS)
		return -EFAULT;
	if (!theirs)
		return -EFAULT;
	memcpy(call == SYS_process_vm_readv ? ours : to_pointer(theirs),
	       call == SYS_process_vm_readv ? to_pointer(theirs) : ours, size);
	return 0;
}

static int own_read(void *to, uint64_t from, size_t size)
{
	return copy_memory(SYS_process_vm_readv, to, from, size);
}

static int own_write(uint64_t to, const void *from, size_t size)
{
	return copy_memory(SYS_process_vm_writev, (void *)(uintptr_t)from, to, size);
}

/* Copy a string. Each read ends at the end of a page, since the page after the string may be unmapped. */
static int own_text(char *to, uint64_t from, size_t room)
{
	size_t n, left = room;
	int err;

	for (; left; left -= n, to += n, from += n) {
		n = PAGE - from % PAGE < left ? PAGE - from % PAGE : left;
		err = own_read(to, from, n);
		if (err < 0 || memchr(to, 0, n))
			return err;
	}
	return -ENAMETOOLONG;
}

static void own_proc(const char *what, char path[PROC_SIZE])
{
	snprintf(path, PROC_SIZE, "/proc/self/%s", what);
}

static void own_link(int fd, char path[PROC_SIZE])
{
	snprintf(path, PROC_SIZE, "/proc/self/fd/%d", fd);
}

static int own_borrow(int fd)
{
	return fd < 0 ? -EBADF : fd;
}

static void own_return_fd(int borrowed)
{
	(void)borrowed;
}

static int own_replace(int fd, int by)
{
	return dup3(by, fd, O_CLOEXEC) < 0 ? -errno : 0;
}

static int own_lend(int fd)
{
	return fd;
}

static void own_close_lent(int lent)
{
	(void)lent;
}

static int own_path(const char *path, char out[PATH_MAX])
{
	return snprintf(out, PATH_MAX, "%s", path) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static long own_bpf(int cmd, const void *attr, size_t size)
{
	return kernel_call(SYS_bpf, (const long[6]){ cmd, (long)attr, (long)size });
}

static long own_mmap(const long arg[6])
{
	return kernel_call(SYS_mmap, arg);
}

static long own_pass_unknown(int cmd, uint64_t attr, unsigned int size)
{
	return own_bpf(cmd, to_pointer(attr), size);
}

static long own_pass(struct call *c)
{
	return own_pass_unknown(c->cmd, c->user, c->size);
}

static long own_pass_map_of(struct call *c)
{
	return own_pass(c);
}

static long own_pass_perf(const long arg[6], const struct perf_event_attr *attr, const char *function)
{
	(void)attr, (void)function;
	return kernel_call(SYS_perf_event_open, arg);
}

static long own_pass_uprobe(const long arg[6], const struct perf_event_attr *attr)
{
	return own_pass_perf(arg, attr, NULL);
}

const struct caller_ops caller_own_process = {
	.state = own_state,
	.read = own_read,
	.write = own_write,
	.text = own_text,
	.proc = own_proc,
	.link = own_link,
	.borrow = own_borrow,
	.return_fd = own_return_fd,
	.replace = own_replace,
	.lend = own_lend,
	.close_lent = own_close_lent,
	.path = own_path,
	.mmap = own_mmap,
	.pass = own_pass,
	.pass_map_of = own_pass_map_of,
	.pass_unknown = own_pass_unknown,
	.pass_perf = own_pass_perf,
	.pass_uprobe = own_pass_uprobe,
	.bpf = own_bpf,
};
