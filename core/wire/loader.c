/* SPDX-License-Identifier: Apache-2.0 */
#include "loader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char *const gpubpf_bpf_kinds[GPUBPF_BPF_KINDS] = { "map", "prog", "link", "btf", "perf", "buffer" };

void gpubpf_bpf_pins(const char *session, char out[GPUBPF_BPF_PINS_SIZE])
{
	const char *end = strrchr(session, '.');

	snprintf(out, GPUBPF_BPF_PINS_SIZE, "%.*s-pin", end ? (int)(end - session) : (int)strlen(session), session);
}

/* first byte of a payload: the data follows in the packet, or is in the packet's first descriptor (a memfd) */
enum { IN_PACKET, IN_MEMFD };

static int send_in_memfd(int sock, int flags, uint16_t type, uint32_t seq, const struct gpubpf_writer *w, int fd)
{
	struct gpubpf_writer head = { 0 };
	int fds[2] = { gpubpf_memfd_image("gpubpf-payload", w->data, w->size), fd }, err = fds[0];

	gpubpf_put_u8(&head, IN_MEMFD);
	if (err >= 0)
		err = gpubpf_msg_send(sock, flags, type, seq, &head, fds, fd < 0 ? 1 : 2);
	gpubpf_writer_finish(&head);
	if (fds[0] >= 0)
		close(fds[0]);
	return err;
}

int gpubpf_payload_send(int sock, int flags, uint16_t type, uint32_t seq, const struct gpubpf_writer *w, int fd)
{
	struct gpubpf_writer whole = { 0 };
	int err;

	if (w->failed)
		return -ENOMEM;
	if (w->size > GPUBPF_BPF_MAX)
		return -E2BIG;
	if (w->size >= GPUBPF_MSG_MAX)
		return send_in_memfd(sock, flags, type, seq, w, fd);
	gpubpf_put_u8(&whole, IN_PACKET);
	gpubpf_put_raw(&whole, w->data, w->size);
	err = gpubpf_msg_send(sock, flags, type, seq, &whole, &fd, fd >= 0);
	gpubpf_writer_finish(&whole);
	return err;
}

int gpubpf_payload_open(struct gpubpf_packet *msg, struct gpubpf_payload *p)
{
	uint8_t where = gpubpf_get_u8(&msg->payload);
	int64_t size;
	int fd;

	*p = (struct gpubpf_payload){ .r = msg->payload, .fd = -1 };
	if (msg->payload.failed || where > IN_MEMFD)
		return -EPROTO;
	if (where == IN_MEMFD) {
		fd = gpubpf_msg_take_fd(msg, 0);
		size = gpubpf_memfd_size(fd, GPUBPF_BPF_MAX);
		p->mapped = size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
		if (fd >= 0)
			close(fd);
		if (p->mapped == MAP_FAILED) {
			p->mapped = NULL;
			return -EPROTO;
		}
		p->size = size;
		gpubpf_reader_init(&p->r, p->mapped, p->size);
	}
	p->fd = gpubpf_msg_take_fd(msg, where == IN_MEMFD);
	return 0;
}

void gpubpf_payload_close(struct gpubpf_payload *p)
{
	if (p->mapped)
		munmap(p->mapped, p->size);
	if (p->fd >= 0)
		close(p->fd);
}
