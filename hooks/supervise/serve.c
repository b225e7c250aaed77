/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives notifications in a few threads. A request to the session may take long, and must not delay system calls of
 * other processes.
 */
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 4

static struct seccomp_notif_sizes sizes;

static void *alloc_buffer(size_t known, size_t kernels)
{
	return calloc(1, known > kernels ? known : kernels);
}

static void send_result(struct notice *n, struct seccomp_notif_resp *resp, long result)
{
	memset(resp, 0, sizeof(*resp));
	resp->id = n->call->id;
	if (result == PASSED)
		resp->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else if (result < 0)
		resp->error = (int)result;
	else
		resp->val = result;
	ioctl(n->listener, SECCOMP_IOCTL_NOTIF_SEND, resp);
}

/*
 * Install the descriptor in the caller, close it here, and then send the answer. The caller resumes only after the
 * close, so that the caller's last descriptor is the last one of the object. SECCOMP_ADDFD_FLAG_SEND would answer
 * before the close.
 */
static void send_file(struct notice *n, struct seccomp_notif_resp *resp, int fd)
{
	struct seccomp_notif_addfd add = { .id = n->call->id, .srcfd = (uint32_t)fd, .newfd_flags = O_CLOEXEC };
	int theirs = ioctl(n->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	long result = theirs < 0 ? -errno : theirs;

	close(fd);
	send_result(n, resp, result);
}

static void serve_one(int listener, struct seccomp_notif *call, struct seccomp_notif_resp *resp)
{
	struct notice n = { .listener = listener, .call = call };
	long result;

	now = &n;
	result = answer(&n);
	if (n.stopped)
		inject_finish(&n, result);
	else if (n.is_file && result >= 0)
		send_file(&n, resp, (int)result);
	else
		send_result(&n, resp, result);
	process_release(&n);
}

static void *serve_all(void *arg)
{
	struct seccomp_notif *call = alloc_buffer(sizeof(*call), sizes.seccomp_notif);
	struct seccomp_notif_resp *resp = alloc_buffer(sizeof(*resp), sizes.seccomp_notif_resp);
	int listener = *(int *)arg;

	while (call && resp) {
		memset(call, 0, sizes.seccomp_notif > sizeof(*call) ? sizes.seccomp_notif : sizeof(*call));
		if (!ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, call))
			serve_one(listener, call, resp);
		else if (errno != ENOENT && errno != EINTR)
			break;
	}
	return NULL;
}

/* Raise the limit of descriptors, since the calls of epoll_ctl(2) use high descriptor numbers (answer.c). */
static void raise_fd_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

void serve(int listener)
{
	struct pollfd end = { .fd = listener };
	pthread_t thread;

	raise_fd_limit();
	caller_set_ops(&caller_served);
	kernel_call(SYS_seccomp, (const long[6]){ SECCOMP_GET_NOTIF_SIZES, 0, (long)&sizes });
	for (int i = 0; i < THREADS; i++)
		if (!pthread_create(&thread, NULL, serve_all, &listener))
			pthread_detach(thread);
	while (!(end.revents & (POLLHUP | POLLERR)))
		poll(&end, 1, -1);
	_exit(0);
}
