/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets of core/wire/protocol.h on a socket, and the memfds that travel with them. Shared by tool, agent and workers:
 * libc only, no allocation, safe in any thread.
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
	uint16_t type; /* enum gpubpf_msg, or one of a newer minor version */
	uint32_t seq;
	struct gpubpf_reader payload; /* points into the caller's buffer */
	int fds[GPUBPF_MSG_FDS];      /* owned by the receiver; -1: no descriptor */
	uint32_t nfds;
	bool lost; /* descriptors arrived that this process had no room for; fds is empty */
};

/* Checks a packet's header and points msg->payload at its payload. 0 or -EPROTO. Pure. */
int gpubpf_msg_parse(const void *packet, size_t size, struct gpubpf_packet *msg);

/*
 * Receives one packet into buf[GPUBPF_MSG_BUF]. `flags` as of recvmsg(2). Descriptors arrive close-on-exec. Returns 0,
 * -EPIPE when the peer closed, -EPROTO when the packet breaks a rule (its descriptors are closed), or recvmsg's -errno.
 */
int gpubpf_msg_recv(int sock, int flags, void *buf, struct gpubpf_packet *msg);

/* Closes the descriptors that are still in msg->fds. gpubpf_msg_take_fd() moves descriptor i out of it, to
 * the caller. */
void gpubpf_msg_close(struct gpubpf_packet *msg);
int gpubpf_msg_take_fd(struct gpubpf_packet *msg, uint32_t i); /* returns -1 if msg has no such descriptor */

/*
 * Sends one packet; never raises SIGPIPE. `payload` may be NULL. `flags` as of sendmsg(2). Returns 0, -EMSGSIZE when
 * the payload is over GPUBPF_MSG_MAX, -ENOMEM when the writer had failed, or sendmsg's -errno.
 */
int gpubpf_msg_send(int sock, int flags, uint16_t type, uint32_t seq, const struct gpubpf_writer *payload,
		    const int *fds, uint32_t nfds);

/*
 * Did a process of this user listen at the other end when connect(2) succeeded? 0, or -EPERM: another user's process
 * did.
 */
int gpubpf_msg_check_peer(int sock);

/* Creates a memfd with a copy of data that can never change. Returns the descriptor, or -errno. */
int gpubpf_memfd_image(const char *name, const void *data, size_t size);
/* Creates a zeroed memfd of `size` bytes that can be written but neither shrink nor grow. */
int gpubpf_memfd_shared(const char *name, size_t size);
/*
 * Checks a received memfd: sealed against shrinking, and at most `max` bytes. Returns its size, or -errno: -EPERM not
 * sealed, -E2BIG too large, -EINVAL no memfd.
 */
int64_t gpubpf_memfd_size(int fd, size_t max);

#endif
