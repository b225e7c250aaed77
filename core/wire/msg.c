/* SPDX-License-Identifier: Apache-2.0 */
#include "msg.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/wire/files/file_size.h"
#include "core/wire/files/write_all.h"

union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(int) * GPUBPF_MSG_FDS)];
};

int gpubpf_msg_parse(const void *packet, size_t size, struct gpubpf_packet *msg)
{
	struct gpubpf_msg_hdr hdr;

	if (size < sizeof(hdr))
		return -EPROTO;
	memcpy(&hdr, packet, sizeof(hdr));
	if (hdr.magic != GPUBPF_MSG_MAGIC || hdr.major != GPUBPF_MSG_MAJOR || hdr.length > GPUBPF_MSG_MAX ||
	    hdr.length != size - sizeof(hdr))
		return -EPROTO;
	msg->type = hdr.type;
	msg->seq = hdr.seq;
	gpubpf_reader_init(&msg->payload, (const char *)packet + sizeof(hdr), hdr.length);
	return 0;
}

/* Moves the descriptors of a received message into msg->fds. Closes the descriptors that do not fit. */
static void collect_fds(struct msghdr *mh, struct gpubpf_packet *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (msg->nfds < GPUBPF_MSG_FDS)
				msg->fds[msg->nfds++] = fd;
			else
				close(fd);
		}
	}
}

int gpubpf_msg_recv(int sock, int flags, void *buf, struct gpubpf_packet *msg)
{
	union control control;
	struct iovec iov = { buf, GPUBPF_MSG_BUF };
	struct msghdr mh = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;
	bool bad;

	*msg = (struct gpubpf_packet){ .fds = { -1, -1, -1, -1 } };
	do
		n = recvmsg(sock, &mh, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	collect_fds(&mh, msg);
	if (!n && !msg->nfds)
		return -EPIPE;
	msg->lost = (mh.msg_flags & MSG_CTRUNC) && msg->nfds < GPUBPF_MSG_FDS;
	bad = (mh.msg_flags & MSG_TRUNC) || ((mh.msg_flags & MSG_CTRUNC) && !msg->lost) ||
	      gpubpf_msg_parse(buf, n, msg) < 0;
	if (bad || msg->lost)
		gpubpf_msg_close(msg);
	return bad ? -EPROTO : 0;
}

void gpubpf_msg_close(struct gpubpf_packet *msg)
{
	for (uint32_t i = 0; i < msg->nfds; i++)
		if (msg->fds[i] >= 0)
			close(msg->fds[i]);
	msg->nfds = 0;
}

int gpubpf_msg_take_fd(struct gpubpf_packet *msg, uint32_t i)
{
	int fd = i < msg->nfds ? msg->fds[i] : -1;

	if (i < msg->nfds)
		msg->fds[i] = -1;
	return fd;
}

int gpubpf_msg_send(int sock, int flags, uint16_t type, uint32_t seq, const struct gpubpf_writer *payload,
		    const int *fds, uint32_t nfds)
{
	struct gpubpf_msg_hdr hdr = {
		.magic = GPUBPF_MSG_MAGIC,
		.major = GPUBPF_MSG_MAJOR,
		.minor = GPUBPF_MSG_MINOR,
		.type = type,
		.length = payload ? payload->size : 0,
		.seq = seq,
	};
	struct iovec iov[2] = {
		{ &hdr, sizeof(hdr) },
		{ payload ? payload->data : NULL, payload ? payload->size : 0 },
	};
	union control control = { 0 };
	struct msghdr mh = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n;

	if (payload && payload->failed)
		return -ENOMEM;
	if ((payload && payload->size > GPUBPF_MSG_MAX) || nfds > GPUBPF_MSG_FDS)
		return -EMSGSIZE;
	if (nfds) {
		mh.msg_control = &control;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(&control.align), fds, sizeof(int) * nfds);
	}
	do
		n = sendmsg(sock, &mh, flags | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int gpubpf_msg_check_peer(int sock)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0)
		return -errno;
	return cred.uid == geteuid() ? 0 : -EPERM;
}

static int create_memfd(const char *name, size_t size)
{
	int fd;

	if (!gpubpf_file_size_allowed(size))
		return -EFBIG;
	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}

int gpubpf_memfd_shared(const char *name, size_t size)
{
	int fd = create_memfd(name, size);
	int err;

	if (fd < 0)
		return fd;
	if (ftruncate(fd, size) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int gpubpf_memfd_image(const char *name, const void *data, size_t size)
{
	int fd = create_memfd(name, size);
	int err;

	if (fd < 0)
		return fd;
	err = gpubpf_write_all(fd, data, size);
	if (!err && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		err = -errno;
	if (err < 0) {
		close(fd);
		return err;
	}
	return fd;
}

int64_t gpubpf_memfd_size(int fd, size_t max)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || fstat(fd, &st) < 0)
		return -EINVAL;
	if (!(seals & F_SEAL_SHRINK))
		return -EPERM;
	if (st.st_size < 0 || (uint64_t)st.st_size > max)
		return -E2BIG;
	return st.st_size;
}
