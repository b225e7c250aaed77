/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on the session's socket with a time limit, and the number and identity of the socket's descriptor. */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define SEND_NS 2000000000ull
#define FD_FLOOR 700          /* lowest number of the agent's descriptors */

bool gpubpf_socket_is_own(void)
{
	return gpubpf_same_file(gpubpf_client.sock, &gpubpf_client.identity);
}

int gpubpf_socket_wait(int fd, short events, uint64_t deadline_ns)
{
	for (;;) {
		struct pollfd p = { fd, events, 0 };
		uint64_t now = gpubpf_now_ns();
		int n = poll(&p, 1, now < deadline_ns ? (deadline_ns - now) / 1000000 + 1 : 0);

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (gpubpf_now_ns() >= deadline_ns)
			return -ETIMEDOUT;
	}
}

int gpubpf_socket_send(int fd, enum gpubpf_msg type, uint32_t seq, const struct gpubpf_writer *payload, const int *fds,
		       uint32_t nfds)
{
	uint64_t deadline = gpubpf_wait_budget_is_suspended() ? 0 : gpubpf_now_ns() + SEND_NS;
	int err;

	for (;;) {
		err = gpubpf_msg_send(fd, MSG_DONTWAIT, type, seq, payload, fds, nfds);
		if (err != -EAGAIN && err != -EINTR)
			return err;
		err = gpubpf_socket_wait(fd, POLLOUT, deadline);
		if (err == -ETIMEDOUT)
			gpubpf_wait_budget_suspend();
		if (err < 0)
			return err;
	}
}

int gpubpf_socket_receive(int fd, void *buf, struct gpubpf_packet *packet, uint64_t deadline)
{
	int err;

	for (;;) {
		err = gpubpf_socket_wait(fd, POLLIN, deadline);
		if (err < 0)
			return err;
		err = gpubpf_msg_recv(fd, MSG_DONTWAIT, buf, packet);
		if (err != -EAGAIN && err != -EINTR)
			return err;
	}
}

/*
 * If the process's descriptor limit does not allow a number of at least FD_FLOOR, the descriptor keeps its number. If
 * that is 0, 1 or 2, the descriptor moves to the lowest free number from 3.
 */
int gpubpf_move_fd_up(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, FD_FLOOR);

	if (high < 0 && fd <= STDERR_FILENO)
		high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (high >= 0)
		close(fd);
	return high >= 0 ? high : fd;
}
