/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entry point of gpubpf-supervise. FILE runs in this process, so that the parent sees the process id, signals and exit
 * status of FILE. The supervisor is a separate process that no parent waits for. It ends with the last process that has
 * the seccomp filter.
 */
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/wire/reach.h"
#include "hooks/loader/environ.h"
#include "hooks/loader/loader.h"

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#endif

extern char **environ;

void say_once(bool *said, const char *text)
{
	if (!__atomic_exchange_n(said, true, __ATOMIC_RELAXED))
		dprintf(STDERR_FILENO, "gpubpf: %s\n", text);
}

/*
 * Returns true if the Linux kernel is 5.9 or newer. Older kernels cannot install descriptors in the caller
 * (SECCOMP_IOCTL_NOTIF_ADDFD).
 */
static bool kernel_is_new(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname is;

	return !uname(&is) && sscanf(is.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 9));
}

static bool is_supervised(void)
{
	const char *session = loader_env_session();

	return !kernel_call(SYS_bpf, (const long[6]){ SUPERVISED, (long)session, (long)strlen(session) + 1 });
}

/*
 * -- FILE's process and the supervisor share a socket: the supervisor sends its process id, then FILE's process sends
 * the listener of the seccomp filter --
 */

static int send_listener(int sock, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct iovec part = { "", 1 };
	struct msghdr msg = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(sock, &msg, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

static int receive_listener(int sock)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte;
	struct iovec part = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control)
	};
	struct cmsghdr *c;
	int fd;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1 || !(c = CMSG_FIRSTHDR(&msg)) || c->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* -- the supervisor -- */

/*
 * In the supervisor, close the descriptors that are inherited from FILE's process, except standard error and the
 * socket.
 */
static void release_descriptors(int sock)
{
	int null = open("/dev/null", O_RDWR);

	sock = fcntl(sock, F_DUPFD, STDERR_FILENO + 1); /* a number above 2, since descriptors 0 to 2 may be closed */
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(sock, STDERR_FILENO + 1);
	close_range(STDERR_FILENO + 2, ~0u, 0);
	if (chdir("/") < 0)
		return; /* not an error: stay in the present working directory */
}

static void supervise(int sock)
{
	pid_t self = getpid();
	sigset_t all;
	int listener;

	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	release_descriptors(sock);
	sock = STDERR_FILENO + 1;
	prctl(PR_SET_NAME, "gpubpf-supervise");
	if (write(sock, &self, sizeof(self)) != sizeof(self) || (listener = receive_listener(sock)) < 0)
		_exit(0);
	close(sock);
	serve(listener);
}

/*
 * Start the supervisor by a double fork, so that FILE's process is not its parent. Returns the socket of FILE's
 * process, or a negative errno value.
 */
static int start_supervisor(void)
{
	int sock[2], status;
	pid_t between;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return -errno;
	/* no exit signal, since FILE must not receive SIGCHLD */
	between = (pid_t)kernel_call(SYS_clone, (const long[6]){ 0 });
	if (!between) {
		close(sock[0]);
		if (!fork())
			supervise(sock[1]);
		_exit(0);
	}
	close(sock[1]);
	while (between > 0 && waitpid(between, &status, __WALL) < 0 && errno == EINTR)
		;
	return sock[0];
}

/*
 * Install the filter and pass its listener to the supervisor. Returns 0, or a negative errno value with the reason in
 * *why.
 */
static int start_supervision(const char **why)
{
	int sock = start_supervisor(), listener;
	pid_t who;

	*why = "the supervisor cannot be started";
	if (sock < 0 || read(sock, &who, sizeof(who)) != sizeof(who))
		return -EAGAIN;
	/* under Yama, let the supervisor read memory of this process and use ptrace(2) */
	prctl(PR_SET_PTRACER, who, 0, 0, 0);
	listener = filter_install(why);
	if (listener >= 0 && send_listener(sock, listener) < 0)
		_exit(EXIT_FAILURE); /* the filter is installed, but no supervisor would answer the calls */
	if (listener >= 0)
		close(listener);
	close(sock);
	return listener < 0 ? listener : 0;
}

int main(int argc, char **argv)
{
	enum gpubpf_reach reach = argc > 2 ? gpubpf_reach(argv[1]) : GPUBPF_REACHED;
	const char *why =
		"the Linux kernel is older than 5.9, so its seccomp user notification cannot install descriptors; use "
		"a newer kernel, or a loader that is linked dynamically against glibc";
	int err;

	if (argc < 3) {
		fprintf(stderr, "usage: gpubpf-supervise FILE ARG0 [ARG]...; gpubpf bpf runs it\n");
		return 2;
	}
	if (loader_env_session() && !is_supervised() && (!kernel_is_new() || start_supervision(&why) < 0))
		fprintf(stderr,
			"gpubpf: %s %s, and cannot be supervised: %s. Its programs are loaded only into the "
			"Linux kernel\n",
			argv[1], gpubpf_reach_why(reach), why);
	if (reach == GPUBPF_OTHER_LIBC)
		unsetenv("LD_PRELOAD"); /* libraries for glibc cannot be loaded into FILE */
	err = (int)-kernel_call(SYS_execve, (const long[6]){ (long)argv[1], (long)(argv + 2), (long)environ });
	fprintf(stderr, "gpubpf: %s: cannot be run: %s\n", argv[1], strerror(err));
	return err == ENOENT ? 127 : 126;
}
