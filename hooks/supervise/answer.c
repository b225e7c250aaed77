/* SPDX-License-Identifier: Apache-2.0 */
/* Handles intercepted system calls with the code of hooks/loader, which libgpubpf-bpf.so also uses. */
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "hooks/loader/environ.h"
#include "hooks/loader/loader.h"

#define FIRST_BELL_FD 1024         /* first descriptor number that the supervisor uses for epoll_ctl(2) */

static const __u64 *args(const struct notice *n)
{
	return n->call->data.args;
}

static bool for_our_session(uint64_t asked)
{
	char session[sizeof(((struct sockaddr_un *)0)->sun_path)];

	return !caller_text(session, asked, sizeof(session)) && !strcmp(session, loader_env_session());
}

long answer_bpf(struct notice *n)
{
	const __u64 *arg = args(n);

	if ((int)arg[0] == SUPERVISED)
		return for_our_session(arg[1]) ? 0 : -EBUSY;
	n->is_file = bpf_returns_fd((int)arg[0]);
	return bpf_call((int)arg[0], arg[1], (unsigned int)arg[2]);
}

long answer_perf_event_open(struct notice *n)
{
	const __u64 *arg = args(n);

	n->is_file = true;
	return perf_event_open_call((const long[6]){ (long)arg[0], (long)arg[1], (long)arg[2], (long)arg[3],
						     (long)arg[4] });
}

long answer_ioctl(struct notice *n)
{
	const __u64 *arg = args(n);
	int result;

	return perf_ioctl((int)arg[0], (unsigned int)arg[1], (long)arg[2], &result) ? result : PASSED;
}

long answer_mmap(struct notice *n)
{
	const __u64 *arg = args(n);
	const long own[6] = { (long)arg[0], (long)arg[1], (long)arg[2], (long)arg[3], (long)arg[4], (long)arg[5] };
	long result;

	return session_mmap(own, &result) ? result : PASSED;
}

/*
 * Call epoll_ctl(2) for a session pipe of the caller. An epoll instance identifies an entry by the file and by the
 * descriptor's number in the calling process. Therefore the supervisor uses the same number in all calls for one entry.
 */
static long bell_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	int theirs = caller_borrow(epoll), file = caller_borrow(fd),
	    bell = file < 0 ? file : dup3(file, FIRST_BELL_FD + fd, O_CLOEXEC);
	long ret = PASSED;

	if (theirs >= 0 && bell >= 0)
		ret = epoll_ctl(theirs, op, bell, event) < 0 ? -errno : 0;
	if (bell >= 0)
		close(bell);
	if (file >= 0)
		caller_return_fd(file);
	if (theirs >= 0)
		caller_return_fd(theirs);
	return ret;
}

/*
 * Handle epoll_ctl(2). The lock is needed because only one thread at a time may use a descriptor number of bell_ctl().
 */
long answer_epoll_ctl(struct notice *n)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const __u64 *arg = args(n);
	struct epoll_event event = { 0 };
	int op = (int)arg[1];
	long ret;

	if (!is_session_pipe((int)arg[2]))
		return PASSED;
	if (op != EPOLL_CTL_DEL && caller_read(&event, arg[3], sizeof(event)) < 0)
		return -EFAULT;
	event.events |= EPOLLET;
	pthread_mutex_lock(&lock);
	ret = bell_ctl((int)arg[0], op, (int)arg[2], &event);
	pthread_mutex_unlock(&lock);
	return ret;
}

long answer_statfs(struct notice *n)
{
	char path[PATH_MAX], here[PATH_MAX];
	struct statfs buf;

	if (caller_text(path, args(n)[0], sizeof(path)) < 0 || caller_path(path, here) < 0 || statfs(here, &buf) < 0 ||
	    !adapt_statfs(path, &buf))
		return PASSED;
	return caller_write(args(n)[1], &buf, sizeof(buf));
}

/* Open an emulated file, which the Linux kernel lacks, for reading. */
static long open_file(struct notice *n, __u64 path, __u64 flags)
{
	char name[128];
	const char *text = caller_text(name, path, sizeof(name)) < 0 || (flags & O_ACCMODE) != O_RDONLY ?
				   NULL :
				   emulated_file(name);
	int fd;

	if (!text)
		return PASSED;
	fd = memfd_create("gpubpf-file", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	n->is_file = true;
	if (write(fd, text, strlen(text)) < 0 || lseek(fd, 0, SEEK_SET) < 0) {
		close(fd);
		return -ENOSPC;
	}
	return fd;
}

long answer_openat(struct notice *n)
{
	return open_file(n, args(n)[1], args(n)[2]);
}

long answer_open(struct notice *n)
{
	return open_file(n, args(n)[0], args(n)[1]);
}

static const struct {
	int nr;
	long (*function)(struct notice *n);
} calls[] = {
#define GPUBPF_SUPERVISED(name, select, function) { SYS_##name, function },
#include "calls.def"
};

long answer(struct notice *n)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].nr == n->call->data.nr)
			return calls[i].function(n);
	return PASSED;
}
