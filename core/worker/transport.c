/* SPDX-License-Identifier: Apache-2.0 */
#include "transport.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/wire/files/file_size.h"
#include "core/wire/protocol.h"
#include "core/wire/files/write_all.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

struct wire_packet {
	struct gpubpf_msg_hdr hdr;
	uint32_t timeout_ms;
};

static int sealed_memfd(const void *data, size_t size)
{
	int fd, err;

	if (!gpubpf_file_size_allowed(size))
		return -EFBIG;
	fd = memfd_create("gpubpf-job", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	err = gpubpf_write_all(fd, data, size);
	if (!err && fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		err = -errno;
	if (err < 0) {
		close(fd);
		return err;
	}
	return fd;
}

static int send_with_fd(int sock, const struct wire_packet *wire, int fd)
{
	struct iovec iov = { (void *)wire, sizeof(*wire) };
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	ssize_t n;

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == sizeof(*wire) ? 0 : n < 0 ? -errno : -EIO;
}

int gpubpf_job_packet_send(int sock, const struct gpubpf_job_packet *packet)
{
	struct wire_packet wire = {
		.hdr = {
			.magic = GPUBPF_MSG_MAGIC, .major = GPUBPF_MSG_MAJOR, .minor = GPUBPF_MSG_MINOR,
			.type = packet->type, .length = sizeof(wire.timeout_ms), .seq = packet->seq,
		},
		.timeout_ms = packet->timeout_ms,
	};
	int fd, err;

	if (packet->size > GPUBPF_JOB_MAX)
		return -E2BIG;
	fd = sealed_memfd(packet->data, packet->size);
	if (fd < 0)
		return fd;
	err = send_with_fd(sock, &wire, fd);
	close(fd);
	return err == -ECONNRESET ? -EPIPE : err;
}

/* Maps the memfd that the peer sent. An unsealed memfd is refused, because the peer could change it during use. */
static int map_sealed(int fd, struct gpubpf_job_packet *packet)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *data;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0)
		return -EBADMSG;
	if (st.st_size <= 0 || (uint64_t)st.st_size > GPUBPF_JOB_MAX)
		return -EBADMSG;
	data = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return -errno;
	packet->data = data;
	packet->size = st.st_size;
	return 0;
}

static bool header_ok(const struct wire_packet *wire, ssize_t n)
{
	return n == sizeof(*wire) && wire->hdr.magic == GPUBPF_MSG_MAGIC && wire->hdr.major == GPUBPF_MSG_MAJOR &&
	       wire->hdr.length == sizeof(wire->timeout_ms);
}

/* Returns the descriptor of the message. If there is not exactly one descriptor, closes all and returns -1. */
static int take_fd(struct msghdr *msg)
{
	int fd = -1, count = 0;

	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		size_t n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			if (fd >= 0)
				close(fd);
			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(int));
			count++;
		}
	}
	if (count > 1 || (msg->msg_flags & (MSG_CTRUNC | MSG_TRUNC))) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

static int recv_now(int sock, struct gpubpf_job_packet *packet)
{
	struct wire_packet wire;
	struct iovec iov = { &wire, sizeof(wire) };
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	ssize_t n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	int fd, err;

	if (n < 0)
		return errno == ECONNRESET ? 0 : -errno;
	fd = take_fd(&msg);
	if (n == 0 || fd < 0)
		return n == 0 ? 0 : -EBADMSG;
	err = header_ok(&wire, n) ? map_sealed(fd, packet) : -EBADMSG;
	close(fd);
	if (err < 0)
		return err;
	packet->type = wire.hdr.type;
	packet->seq = wire.hdr.seq;
	packet->timeout_ms = wire.timeout_ms;
	return 1;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ll + ts.tv_nsec / 1000000;
}

int gpubpf_job_packet_recv(int sock, int64_t timeout_ms, struct gpubpf_job_packet *packet)
{
	int64_t end = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;

	for (;;) {
		int64_t left = end < 0 ? -1 : end - now_ms();
		struct pollfd p = { .fd = sock, .events = POLLIN };
		int n, err;

		if (end >= 0 && left < 0)
			left = 0;
		n = poll(&p, 1, left > INT32_MAX ? INT32_MAX : (int)left);
		if (n == 0)
			return -ETIMEDOUT;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n < 0)
			continue;
		err = recv_now(sock, packet);
		if (err != -EAGAIN && err != -EINTR)
			return err;
	}
}

void gpubpf_job_packet_finish(struct gpubpf_job_packet *packet)
{
	if (packet->data)
		munmap((void *)packet->data, packet->size);
	packet->data = NULL;
}
