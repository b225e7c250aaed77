/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated agent. It connects to a session in the same process and sends the messages that a test wants, valid or
 * not.
 */
#ifndef GPUBPF_TESTS_SESSION_PEER_H
#define GPUBPF_TESTS_SESSION_PEER_H

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/session/session.h"
#include "core/wire/fields.h"

struct agent {
	struct gpubpf_session *s;
	int sock;
	uint32_t seq;
	uint8_t buffer[GPUBPF_MSG_BUF];
	struct gpubpf_packet packet;   /* the last answer */
};

static inline int agent_connect(struct agent *a, struct gpubpf_session *s)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	a->s = s;
	a->seq = 0;
	a->sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", gpubpf_session__path(s));
	return connect(a->sock, (struct sockaddr *)&addr, sizeof(addr));
}

static inline void agent_close(struct agent *a)
{
	close(a->sock);
	gpubpf_session__poll(a->s, 0);
}

static inline int agent_send(struct agent *a, uint16_t type, struct gpubpf_writer *w, const int *fds, uint32_t n)
{
	int err = gpubpf_msg_send(a->sock, MSG_DONTWAIT, type, ++a->seq, w, fds, n);

	gpubpf_writer_finish(w);
	return err;
}

/*
 * Poll the session until a message of this type arrives. Returns 0, -EPIPE if the session closed the connection, or
 * -ETIMEDOUT.
 */
static inline int agent_wait(struct agent *a, uint16_t type, int ms)
{
	for (int i = 0; i < ms / 5 + 1; i++) {
		struct pollfd p = { .fd = a->sock, .events = POLLIN };
		int err;

		gpubpf_session__poll(a->s, 0);
		if (poll(&p, 1, 5) <= 0)
			continue;
		err = gpubpf_msg_recv(a->sock, MSG_DONTWAIT, a->buffer, &a->packet);
		if (err == -ECONNRESET)
			err = -EPIPE;
		if (err < 0 || a->packet.type == type)
			return err;
		gpubpf_msg_close(&a->packet);
	}
	return -ETIMEDOUT;
}

static inline int agent_hello(struct agent *a)
{
	struct gpubpf_writer w = {0};

	gpubpf_put_u32(&w, getpid());
	gpubpf_put_u32(&w, getpid());
	gpubpf_put_str(&w, "/bin/fake");
	gpubpf_put_str(&w, "opencl");
	gpubpf_put_str(&w, "0.1.0");
	agent_send(a, GPUBPF_MSG_HELLO, &w, NULL, 0);
	return agent_wait(a, GPUBPF_MSG_WELCOME, 1000);
}

static inline int agent_device(struct agent *a, uint32_t number, uint64_t bits)
{
	struct gpubpf_device_caps caps = { .name = "fake", .backend = "opencl", .bits = bits, .compute_units = 4 };
	struct gpubpf_writer w = {0};

	gpubpf_put_u32(&w, number);
	gpubpf_put_caps(&w, &caps);
	agent_send(a, GPUBPF_MSG_DEVICE, &w, NULL, 0);
	return agent_wait(a, GPUBPF_MSG_ARENA, 1000);
}

static inline void agent_request_twin(struct agent *a, uint32_t device, uint32_t kind, const char *kernel, int image)
{
	struct gpubpf_writer w = {0};

	gpubpf_put_u32(&w, device);
	gpubpf_put_u32(&w, kind);
	gpubpf_put_str(&w, "-DX=1");
	gpubpf_put_u32(&w, 0);
	gpubpf_put_u32(&w, 1);
	gpubpf_put_str(&w, kernel);
	gpubpf_put_u32(&w, 0);
	gpubpf_put_str(&w, "");
	gpubpf_put_u64(&w, 0);
	gpubpf_put_u32(&w, 1); /* the number of the first link of the plan */
	gpubpf_put_u32(&w, 0);
	gpubpf_put_str(&w, ""); /* from no file */
	gpubpf_put_u64(&w, 0);
	gpubpf_put_u32(&w, 0); /* 0: no limit on the number of registers */
	agent_send(a, GPUBPF_MSG_TWIN, &w, &image, image >= 0);
}

/*
 * The session's answer to a request for a twin. `reason` is the reason for the first kernel in the answer, or a reason
 * that applies to all kernels.
 */
struct twin_answer {
	uint32_t kind, n, flags, nparams;
	char options[256], kernel[256], twin[280], reason[240];
	bool failed;
};

static inline struct twin_answer agent_twin(struct agent *a, int ms)
{
	struct twin_answer t = {0};
	struct gpubpf_reader *r = &a->packet.payload;
	char reason[240];

	if (agent_wait(a, GPUBPF_MSG_TWIN_DONE, ms) < 0) {
		t.failed = true;
		return t;
	}
	t.kind = gpubpf_get_u32(r);
	gpubpf_get_str(r, t.options, sizeof(t.options));
	t.n = gpubpf_get_u32(r);
	for (uint32_t i = 0; i < t.n; i++) {
		gpubpf_get_str(r, t.kernel, sizeof(t.kernel));
		gpubpf_get_u64(r);
		gpubpf_get_str(r, t.twin, sizeof(t.twin));
		t.flags = gpubpf_get_u32(r);
		t.nparams = gpubpf_get_u32(r);
		gpubpf_get_str(r, t.reason, sizeof(t.reason));
	}
	gpubpf_get_str(r, reason, sizeof(reason));
	gpubpf_get_u64(r);
	gpubpf_get_u8(r);
	gpubpf_get_u64(r);
	if (!t.reason[0])
		strcpy(t.reason, reason);
	t.failed = !gpubpf_reader_done(r);
	return t;
}

#endif
