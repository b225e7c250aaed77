/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends and receives packets of core/wire/protocol.h on a socket, and creates and checks the memfds that travel with
 * them. The tool, the agent and the workers share this code. It uses only libc, allocates no memory, and may be called
 * from any thread.
 */
#ifndef GPUBPF_CORE_WIRE_MSG_H
#define GPUBPF_CORE_WIRE_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire.h"
#include "protocol.h"

#define GPUBPF_MSG_BUF (sizeof(struct gpubpf_msg_hdr) + GPUBPF_MSG_MAX)

struct gpubpf_packet {
	uint16_t type; /* enum gpubpf_msg, or a type of a newer minor version */
	uint32_t seq;
	struct gpubpf_reader payload; /* points into the caller's buffer */
	int fds[GPUBPF_MSG_FDS];      /* the receiver owns these descriptors; -1: no descriptor */
	uint32_t nfds;
	bool lost; /* descriptors were lost because this process has too many open files; nfds is then 0 */
};

/*
 * Checks a packet's header, and sets msg->type, seq and payload. The payload points into the packet. Returns 0 or
 * -EPROTO.
 */
int gpubpf_msg_parse(const void *packet, size_t size, struct gpubpf_packet *msg);

/*
 * Receives one packet into buf[GPUBPF_MSG_BUF]. `flags` are flags of recvmsg(2). Received descriptors are
 * close-on-exec. Returns 0, or -errno: -EPIPE if the peer closed the socket, -EPROTO if the packet breaks a rule (its
 * descriptors are closed).
 */
int gpubpf_msg_recv(int sock, int flags, void *buf, struct gpubpf_packet *msg);

/*
 * gpubpf_msg_close() closes the descriptors in msg->fds. gpubpf_msg_take_fd() removes descriptor i from msg->fds, and
 * the caller then owns it.
 */
void gpubpf_msg_close(struct gpubpf_packet *msg);
int gpubpf_msg_take_fd(struct gpubpf_packet *msg, uint32_t i); /* returns -1 if there is no descriptor i */

/*
 * Sends one packet, and never raises SIGPIPE. `payload` may be NULL. `flags` are flags of sendmsg(2). Returns 0, or
 * -errno: -EMSGSIZE if the payload is longer than GPUBPF_MSG_MAX, -ENOMEM if the writer has failed.
 */
int gpubpf_msg_send(int sock, int flags, uint16_t type, uint32_t seq, const struct gpubpf_writer *payload,
		    const int *fds, uint32_t nfds);

/*
 * Checks that the process that listened on the socket at connect(2) belongs to this user. Returns 0, or -EPERM if
 * another user owns it.
 */
int gpubpf_msg_check_peer(int sock);

/* Creates a memfd with a copy of the data, sealed against all changes. Returns the descriptor, or -errno. */
int gpubpf_memfd_image(const char *name, const void *data, size_t size);
/*
 * Creates a memfd of `size` zero bytes, sealed against shrinking and growing but not against writes. Returns the
 * descriptor, or -errno.
 */
int gpubpf_memfd_shared(const char *name, size_t size);
/*
 * Checks a received memfd. Returns its size in bytes, or -errno: -EPERM if it can be shrunk, -E2BIG if it is larger
 * than `max` bytes, -EINVAL if it is not a memfd.
 */
int64_t gpubpf_memfd_size(int fd, size_t max);

#endif
