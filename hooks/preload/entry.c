/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the functions of libc that the library interposes in a loader's process. */
#undef _FILE_OFFSET_BITS /* otherwise the header declares fopen as an alias of fopen64 */
#include "hooks/loader/loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

long syscall(long nr, ...);
int ioctl(int fd, unsigned long request, ...);
FILE *fopen(const char *path, const char *mode);
FILE *fopen64(const char *path, const char *mode);

static long set_errno(long ret)
{
	if (ret >= 0 || ret < -4095)
		return ret;
	errno = (int)-ret;
	return -1;
}

/*
 * Convert the result of a handled call to the result of libc's function. On success errno gets back its old value
 * `before`.
 */
static long set_errno_on_failure(long ret, int before)
{
	errno = before;
	return set_errno(ret);
}

/*
 * Block signals while a call is handled, because this code allocates memory and a signal handler may make system calls.
 */
static void block_signals(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, before);
}

static void restore_signals(const sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

static long handle_call(long nr, const long arg[6])
{
	sigset_t before;
	long ret;

	block_signals(&before);
	ret = nr == SYS_bpf ? bpf_call((int)arg[0], (uint64_t)arg[1], (unsigned int)arg[2]) : perf_event_open_call(arg);
	restore_signals(&before);
	return ret;
}

/*
 * Like libc's function, this function reads six arguments even if the caller passes fewer. The others are meaningless
 * register values.
 */
EXPORT long syscall(long nr, ...)
{
	int before = errno;
	long arg[6];
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (nr == SYS_bpf && have_session() && bpf_may_block((int)arg[0]))
		return set_errno_on_failure(bpf_call((int)arg[0], (uint64_t)arg[1], (unsigned int)arg[2]), before);
	if ((nr == SYS_bpf || nr == SYS_perf_event_open) && have_session())
		return set_errno_on_failure(handle_call(nr, arg), before);
	return set_errno(kernel_call(nr, arg));
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	int before = errno, result;
	sigset_t signals;
	bool ours = false;
	va_list ap;
	long arg;

	va_start(ap, request);
	arg = va_arg(ap, long);
	va_end(ap);
	if (is_perf_request(request)) {
		block_signals(&signals);
		ours = perf_ioctl(fd, request, arg, &result);
		restore_signals(&signals);
	}
	if (ours)
		return (int)set_errno_on_failure(result, before);
	return (int)set_errno(kernel_call(SYS_ioctl, (const long[6]){ fd, (long)request, arg }));
}

EXPORT void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	const long arg[6] = { (long)at, (long)size, prot, flags, fd, offset };
	sigset_t before;
	bool ours = false;
	long result;

	if (fd >= 0 && have_session()) {
		block_signals(&before);
		ours = session_mmap(arg, &result);
		restore_signals(&before);
	}
	if (ours)
		return (void *)set_errno(result);
	return (void *)set_errno(kernel_call(SYS_mmap, arg));
}

EXPORT void *mmap64(void *at, size_t size, int prot, int flags, int fd, off64_t offset)
{
	return mmap(at, size, prot, flags, fd, offset);
}

EXPORT int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	struct epoll_event ours;

	if (event && op != EPOLL_CTL_DEL && have_session() && is_session_pipe(fd)) {
		ours = *event;
		ours.events |= EPOLLET;
		event = &ours;
	}
	return (int)set_errno(kernel_call(SYS_epoll_ctl, (const long[6]){ epoll, op, fd, (long)event }));
}

EXPORT int statfs(const char *path, struct statfs *buf)
{
	long ret = kernel_call(SYS_statfs, (const long[6]){ (long)path, (long)buf });

	if (!ret && have_session())
		adapt_statfs(path, buf);
	return (int)set_errno(ret);
}

EXPORT int statfs64(const char *path, struct statfs64 *buf)
{
	/* the structures statfs and statfs64 are identical on the supported platforms */
	return statfs(path, (struct statfs *)buf);
}

typedef FILE *(*fopen_fn)(const char *path, const char *mode);

static FILE *open_file(const char *name, const char *path, const char *mode)
{
	fopen_fn next = (fopen_fn)dlsym(RTLD_NEXT, name);
	FILE *f = next(path, mode);

	const char *text = f || errno != ENOENT ? NULL : emulated_file(path);

	return text ? fmemopen((void *)(uintptr_t)text, strlen(text), "r") : f;
}

/* Open an emulated file. bcc uses open(2) to read the files that libbpf reads with fopen(3). */
static int open_emulated(const char *path)
{
	const char *text = emulated_file(path);
	int fd = text ? memfd_create("gpubpf-file", MFD_CLOEXEC) : -1;

	if (fd >= 0 && pwrite(fd, text, strlen(text), 0) == (ssize_t)strlen(text))
		return fd;
	if (fd >= 0)
		close(fd);
	errno = ENOENT;
	return -1;
}

EXPORT int open(const char *path, int flags, ...)
{
	int before = errno;
	mode_t mode;
	va_list ap;
	long ret;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t); /* without O_CREAT the caller passes no mode, and this value is not used */
	va_end(ap);
	ret = kernel_call(SYS_openat, (const long[6]){ AT_FDCWD, (long)path, flags, mode });
	return ret == -ENOENT && !(flags & O_CREAT) && have_session() ? open_emulated(path) :
									(int)set_errno_on_failure(ret, before);
}

EXPORT int open64(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	return open(path, flags | O_LARGEFILE, mode);
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
	return open_file("fopen", path, mode);
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
	return open_file("fopen64", path, mode);
}
