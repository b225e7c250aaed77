/* SPDX-License-Identifier: Apache-2.0 */
/* Receives the requests of a loader's process, and answers each by the handler of its operation. */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STALE_NS 20000000ull       /* maximum age of a mirror that a loader's command may read */
#define WAIT_NS 1000000000ull

/* A request that waits until mirrors are up to date. */
struct gpubpf_parked {
	size_t size;
	uint64_t until_ns;
	uint32_t seq;
	uint8_t data[];
};

static int (*const answers[GPUBPF_BPF_OPS])(struct sys_call *c) = {
	[GPUBPF_BPF_PROG_IS_GPU] = sys_prog_is_gpu,
	[GPUBPF_BPF_MAP_CREATE] = sys_map_create,
	[GPUBPF_BPF_MAP_ELEM] = sys_map_elem,
	[GPUBPF_BPF_MAP_BATCH] = sys_map_batch,
	[GPUBPF_BPF_MAP_FREEZE] = sys_map_freeze,
	[GPUBPF_BPF_PROG_LOAD] = sys_prog_load,
	[GPUBPF_BPF_BTF_LOAD] = sys_btf_load,
	[GPUBPF_BPF_INFO] = sys_info,
	[GPUBPF_BPF_NEXT_ID] = sys_next_id,
	[GPUBPF_BPF_FD_BY_ID] = sys_fd_by_id,
	[GPUBPF_BPF_PERF_OPEN] = sys_perf_open,
	[GPUBPF_BPF_LINK_CREATE] = sys_link_create,
	[GPUBPF_BPF_PERF_SET] = sys_perf_set,
	[GPUBPF_BPF_MEMORY] = sys_memory,
	[GPUBPF_BPF_BUFFER_OPEN] = sys_buffer_open,
	[GPUBPF_BPF_PIN] = sys_pin,
	[GPUBPF_BPF_PINNED] = sys_pinned,
	[GPUBPF_BPF_MAP_BY_KERNEL_ID] = sys_map_by_kernel_id,
	[GPUBPF_BPF_INNER] = sys_inner_define,
	[GPUBPF_BPF_UPROBE_OPEN] = sys_uprobe_open,
	[GPUBPF_BPF_OUTPUT] = sys_output,
	[GPUBPF_BPF_KERNEL] = sys_kernel_map_fd,
	[GPUBPF_BPF_QUEUE_CONSUMED] = sys_queue_consumed,
	[GPUBPF_BPF_RING_MAPPED] = sys_ring_mapped,
	[GPUBPF_BPF_RUN] = sys_run,
	[GPUBPF_BPF_RUN_RESULT] = sys_run_result,
};

static int dispatch(struct sys_call *c)
{
	uint32_t op = gpubpf_get_u32(c->r);
	int err = op < GPUBPF_BPF_OPS && answers[op] ? answers[op](c) : -EPROTO;

	return c->r->failed ? -EPROTO : err;
}

static int reply(struct gpubpf_peer *peer, uint32_t seq, const struct sys_call *c, int err)
{
	struct gpubpf_writer w = { 0 };
	int sent;

	if (c->out->failed || c->out->size > GPUBPF_BPF_MAX - sizeof(uint32_t)) {
		gpubpf_put_u32(&w, (uint32_t)(c->out->failed ? -ENOMEM : -E2BIG));
	} else {
		gpubpf_put_u32(&w, (uint32_t)err);
		gpubpf_put_raw(&w, c->out->data, c->out->size);
	}
	sent = gpubpf_payload_send(peer->sock, MSG_DONTWAIT, GPUBPF_MSG_BPF_DONE, seq, &w, c->fd);
	gpubpf_writer_finish(&w);
	return sent;
}

static int handle_request(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t seq, struct gpubpf_reader *r,
			  int request_fd)
{
	struct gpubpf_writer out = { 0 };
	struct sys_call c = { .s = s, .r = r, .out = &out, .fd = -1, .request_fd = request_fd };
	int err = dispatch(&c);

	if (err != -EPROTO)
		err = reply(peer, seq, &c, err);
	gpubpf_writer_finish(&out);
	if (c.fd >= 0)
		close(c.fd);
	return err;
}

/*
 * Returns true if mirrors must be updated before the session answers the request. Commands on elements read mirrors of
 * at most STALE_NS. So one update serves many commands of an iteration. GPUBPF_BPF_OUTPUT always needs an update, to
 * separate earlier records from later ones.
 */
static bool needs_mirrors(const struct gpubpf_session *s, struct gpubpf_reader r)
{
	uint32_t op = gpubpf_get_u32(&r);
	bool looks = op == GPUBPF_BPF_MAP_ELEM || op == GPUBPF_BPF_MAP_BATCH;

	if (!gpubpf_session_has_mirrors(s))
		return false;
	return op == GPUBPF_BPF_OUTPUT || (looks && (!s->loaders || gpubpf_now_ns() - s->loaders->mirrored_ns > STALE_NS));
}

static int park_request(struct gpubpf_peer *peer, uint32_t seq, const struct gpubpf_reader *r)
{
	size_t size = r->end - r->at;

	if (peer->parked)
		return -EPROTO; /* a loader must wait for an answer before it sends its next request */
	peer->parked = malloc(sizeof(*peer->parked) + size + 1);
	if (!peer->parked)
		return -ENOMEM;
	*peer->parked = (struct gpubpf_parked){ .size = size, .seq = seq, .until_ns = gpubpf_now_ns() + WAIT_NS };
	memcpy(peer->parked->data, r->at, size);
	return 0;
}

static void resume_request(struct gpubpf_session *s, struct gpubpf_peer *peer)
{
	struct gpubpf_reader r;
	struct gpubpf_parked *parked = peer->parked;

	gpubpf_reader_init(&r, parked->data, parked->size);
	peer->parked = NULL;
	if (handle_request(s, peer, parked->seq, &r, -1) < 0)
		shutdown(peer->sock, SHUT_RDWR);
	free(parked);
}

void gpubpf_bpf_resume(struct gpubpf_session *s)
{
	for (struct gpubpf_peer *peer = gpubpf_peers_first(s); peer; peer = peer->next) {
		bool expired = peer->parked && gpubpf_now_ns() > peer->parked->until_ns;

		if (!peer->parked || (!expired && gpubpf_session_is_pulling(s)))
			continue;
		if (s->loaders)
			s->loaders->mirrored_ns = gpubpf_now_ns();
		resume_request(s, peer);
	}
}

int gpubpf_bpf_message(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_packet *msg)
{
	struct gpubpf_payload payload;
	int err = gpubpf_payload_open(msg, &payload);

	if (err < 0)
		return err;
	if (!needs_mirrors(s, payload.r)) {
		err = handle_request(s, peer, msg->seq, &payload.r, payload.fd);
	} else {
		err = park_request(peer, msg->seq, &payload.r);
		gpubpf_session_pull_mirrors(s);
	}
	gpubpf_payload_close(&payload);
	return err;
}
