/* SPDX-License-Identifier: Apache-2.0 */
/* Handles the messages of peers and answers them. No content of a message is trusted. */
#include "private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/wire/fields.h"
#include "core/wire/name.h"
#include "core/session/host/host_programs.h"
#include "core/session/maps/host_calls.h"
#include "core/session/twins/build_pool.h"
#include "core/session/stacks/stacks.h"

static int on_detached(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_reader *r)
{
	uint32_t left = gpubpf_get_u32(r);

	if (r->failed || !peer->attached)
		return -EPROTO;
	if (left)
		gpubpf_session_note(s,
				    "%s (pid %u): %u hooks stay, because another library replaced them; they only call the "
				    "runtime",
				    peer->exe, peer->pid, left);
	return 0;
}

static int on_hello(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t seq, struct gpubpf_reader *r)
{
	struct gpubpf_writer w = { 0 };
	int table = gpubpf_kernel_table_fd(s);
	char version[32];

	if (peer->kind != GPUBPF_PEER_NEW)
		return -EPROTO;
	gpubpf_get_u32(r); /* skip pid and tid: the peer's pid namespace may differ from the session's */
	gpubpf_get_u32(r);
	gpubpf_get_str(r, peer->exe, sizeof(peer->exe));
	gpubpf_get_str(r, peer->backend, sizeof(peer->backend));
	gpubpf_get_str(r, version, sizeof(version));
	if (r->failed)
		return -EPROTO;
	peer->kind = GPUBPF_PEER_AGENT;
	gpubpf_peers_add_process(s, peer);
	gpubpf_host_calls_update(s);
	gpubpf_put_u32(&w, peer->process);
	gpubpf_put_u32(&w, s->opts.no_wait ? 0 : s->opts.wait_ms);
	gpubpf_put_u64(&w, s->opts.sample);
	gpubpf_put_u64(&w, s->opts.first);
	gpubpf_put_u32(&w, GPUBPF_WELCOME_READS |
				   (gpubpf_session_has_allocations(s) ? GPUBPF_WELCOME_ALLOCATION_STACKS : 0));
	return gpubpf_peer_send(peer, GPUBPF_MSG_WELCOME, seq, &w, &table, 1);
}

static struct gpubpf_session_device *find_device(struct gpubpf_peer *peer, uint32_t number)
{
	for (uint32_t i = 0; i < peer->ndevices; i++)
		if (peer->devices[i].number == number)
			return &peer->devices[i];
	return NULL;
}

static struct gpubpf_session_device *add_device(struct gpubpf_peer *peer, uint32_t number)
{
	struct gpubpf_session_device *grown;

	if (find_device(peer, number) || peer->ndevices == GPUBPF_MAX_DEVICES)
		return NULL;
	grown = realloc(peer->devices, (peer->ndevices + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	peer->devices = grown;
	grown += peer->ndevices++;
	*grown = (struct gpubpf_session_device){ .number = number, .arena = -1, .memory_fd = -1 };
	return grown;
}

/*
 * Write the diagnostic and, if requested, its remedy. The remedy gets at most half of the buffer. The diagnostic gets
 * the rest, and is truncated if it is longer.
 */
static void format_refusal(const struct gpubpf_diag *diag, bool with_remedy, char why[GPUBPF_REASON_MAX + 1])
{
	int remedy = with_remedy ? strnlen(diag->remedy, GPUBPF_REASON_MAX / 2) : 0;

	if (with_remedy)
		snprintf(why, GPUBPF_REASON_MAX + 1, "%.*s; %.*s", GPUBPF_REASON_MAX - remedy - 2, diag->what, remedy,
			 diag->remedy);
	else
		snprintf(why, GPUBPF_REASON_MAX + 1, "%.*s", GPUBPF_REASON_MAX, diag->what);
}

static int on_device(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t seq, struct gpubpf_reader *r)
{
	struct gpubpf_session_device *dev;
	uint32_t number = gpubpf_get_u32(r);
	struct gpubpf_writer w = { 0 };
	struct gpubpf_diag diag;
	struct gpubpf_device_caps caps;
	char why[GPUBPF_REASON_MAX + 1] = "";
	int arena, fd;
	bool limit;

	if (!gpubpf_get_caps(r, &caps) || !(dev = add_device(peer, number)))
		return -EPROTO;
	dev->caps = caps;
	gpubpf_diag_init(&diag);
	arena = gpubpf_arena_assign(s, peer, dev, &diag);
	limit = diag.code == GPUBPF_E_FILE_SIZE || diag.code == GPUBPF_E_OPEN_FILES;
	dev->arena = arena;
	gpubpf_host_calls_update(s);
	gpubpf_peers_list_device(s, peer, &dev->caps);
	if (arena == 0 && gpubpf_linux_share(s, peer, 0) < 0)
		return -EPROTO;
	gpubpf_put_u32(&w, number);
	gpubpf_put_u64(&w, arena < 0 ? 0 : gpubpf_arena_at(s, arena)->layout.size);
	gpubpf_put_u64(&w, arena < 0 ? 0 : gpubpf_arena_at(s, arena)->layout.hash);
	if (arena < 0)
		format_refusal(&diag, limit, why);
	gpubpf_put_str(&w, why);
	if (arena < 0)
		gpubpf_session_note(s, "%s cannot be probed: %s", dev->caps.name, why);
	fd = arena < 0 ? -1 : gpubpf_arena_at(s, arena)->fd;
	return gpubpf_peer_send(peer, GPUBPF_MSG_ARENA, seq, &w, &fd, arena >= 0);
}

static int get_headers(struct gpubpf_twin_req *req, struct gpubpf_reader *r)
{
	req->nheaders = gpubpf_get_count(r, 4 + 8 + 8);
	req->headers = calloc(req->nheaders + 1, sizeof(*req->headers));
	for (uint32_t i = 0; req->headers && i < req->nheaders; i++) {
		gpubpf_get_str(r, req->headers[i].name, sizeof(req->headers[i].name));
		req->headers[i].offset = gpubpf_get_u64(r);
		req->headers[i].size = gpubpf_get_u64(r);
	}
	return !req->headers ? -ENOMEM : r->failed ? -EPROTO : 0;
}

static int get_kernels(struct gpubpf_session *s, struct gpubpf_twin_req *req, struct gpubpf_reader *r)
{
	char whole[GPUBPF_WHOLE_NAME_SIZE];

	req->nkernels = gpubpf_get_count(r, 4);
	req->kernels = calloc(req->nkernels + 1, sizeof(*req->kernels));
	for (uint32_t i = 0; req->kernels && i < req->nkernels; i++) {
		gpubpf_get_str(r, whole, sizeof(whole));
		gpubpf_name_short(whole, strlen(whole), req->kernels[i].name);
		req->kernels[i].whole = strdup(whole);
		if (!req->kernels[i].whole)
			return -ENOMEM;
		req->kernels[i].id = gpubpf_kernel_id(s, req->kernels[i].name);
		gpubpf_kernel_set_full_name(s, req->kernels[i].id, whole);
	}
	return !req->kernels ? -ENOMEM : r->failed || !req->nkernels ? -EPROTO : 0;
}

/* Read the links whose programs the agent requests for the twin. Other links may have been attached in the meantime. */
static int get_links(struct gpubpf_session *s, struct gpubpf_twin_req *req, struct gpubpf_reader *r)
{
	req->nlinks = gpubpf_get_count(r, 4);
	if (req->nlinks > GPUBPF_PLAN_LINKS)
		return -EPROTO;
	req->links = calloc(req->nlinks + 1, sizeof(*req->links));
	for (uint32_t i = 0; req->links && i < req->nlinks; i++)
		req->links[i] = gpubpf_get_u32(r);
	return req->links ? gpubpf_links_make_unit(s, req->links, req->nlinks, &req->unit) : -ENOMEM;
}

static int get_request(struct gpubpf_session *s, struct gpubpf_twin_req *req, struct gpubpf_reader *r)
{
	size_t size;
	const void *options;
	int err;

	req->kind = gpubpf_get_u32(r);
	options = gpubpf_get_bytes(r, &size);
	if (r->failed || req->kind >= GPUBPF_NIMAGES || memchr(options, 0, size))
		return -EPROTO;
	req->options = strndup(options, size);
	if (!req->options)
		return -ENOMEM;
	err = get_headers(req, r);
	if (!err)
		err = get_kernels(s, req, r);
	req->unloadable = gpubpf_get_u32(r);
	gpubpf_get_str(r, req->cwd, sizeof(req->cwd));
	req->built_ns = gpubpf_get_u64(r);
	if (!err)
		err = get_links(s, req, r);
	gpubpf_get_str(r, req->from, sizeof(req->from));
	req->identity = gpubpf_get_u64(r);
	req->registers = gpubpf_get_u32(r);
	return !err && r->failed ? -EPROTO : err;
}

static void recall_image(const struct gpubpf_peer *peer, struct gpubpf_twin_req *req)
{
	const struct gpubpf_known_image *known = req->identity ? gpubpf_peer_known(peer, req->identity) : NULL;

	req->has_digest = known;
	if (!known)
		return;
	memcpy(req->digest, known->digest, sizeof(req->digest));
	req->copy = known->copy ? gpubpf_image_copy_get(known->copy) : NULL;
}

void gpubpf_peer_forget_images(struct gpubpf_session *s, struct gpubpf_peer *peer)
{
	for (uint32_t i = 0; i < peer->nknown; i++) {
		s->server->retained_bytes -= peer->known[i].copy ? peer->known[i].copy->image.size : 0;
		gpubpf_image_copy_put(peer->known[i].copy);
	}
	free(peer->known);
}

static int on_twin(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_packet *msg)
{
	uint32_t number = gpubpf_get_u32(&msg->payload);
	struct gpubpf_session_device *dev = find_device(peer, number);
	struct gpubpf_twin_req *req;
	int err;

	if (!dev || dev->arena < 0 || peer->nrequests == GPUBPF_MAX_REQUESTS)
		return -EPROTO;
	req = gpubpf_twin_req_new();
	if (!req)
		return -ENOMEM;
	req->peer = peer->id;
	req->seq = msg->seq;
	req->caps = dev->caps;
	/*
	 * The twin's code does not depend on these, and they vary in virtual machines. So the cache key must not
	 * include them.
	 */
	req->caps.memory = req->caps.max_alloc = 0;
	req->layout = gpubpf_arena_at(s, dev->arena)->layout;
	err = get_request(s, req, &msg->payload);
	if (err < 0) {
		gpubpf_twin_req_free(req);
		return err;
	}
	req->image_fd = gpubpf_msg_take_fd(msg, 0);
	req->headers_fd = gpubpf_msg_take_fd(msg, 1);
	recall_image(peer, req);
	peer->nrequests++;
	gpubpf_twins_submit(s, req);
	return 0;
}

static int on_note(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_reader *r)
{
	char text[400];

	gpubpf_get_str(r, text, sizeof(text));
	if (r->failed)
		return -EPROTO;
	gpubpf_session_note(s, "%s", text);
	return 0;
}

static int on_keep(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_packet *msg)
{
	struct gpubpf_session_device *dev = find_device(peer, gpubpf_get_u32(&msg->payload));
	uint32_t what = gpubpf_get_u32(&msg->payload);

	if (!dev || dev->arena < 0 || gpubpf_arena_at(s, dev->arena)->shared || msg->payload.failed)
		return -EPROTO;
	if (what == GPUBPF_KEEP_BROKEN) {
		gpubpf_rescue(s, dev);
	} else if (dev->memory_fd >= 0) {
		close(dev->memory_fd);
		dev->memory_fd = -1;
	}
	if (what == GPUBPF_KEEP && !dev->rescued) {
		dev->memory_fd = gpubpf_msg_take_fd(msg, 0);
		dev->had_memory_fd = true;
	}
	return 0;
}

static int on_pulled(struct gpubpf_peer *peer, struct gpubpf_reader *r)
{
	struct gpubpf_session_device *dev = find_device(peer, gpubpf_get_u32(r));
	bool has_number = !gpubpf_reader_done(r); /* agents of minor version 2 do not send the number of the PULL */
	uint32_t number = has_number ? gpubpf_get_u32(r) : 0;

	if (!dev || r->failed)
		return -EPROTO;
	if (!has_number || number == dev->pulls)
		dev->pull_until_ns = 0;
	return 0;
}

static int on_held(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_reader *r)
{
	uint32_t held = gpubpf_get_u32(r);

	if (r->failed || held == GPUBPF_HELD_NOT_YET || held >= GPUBPF_NHELD)
		return -EPROTO;
	peer->held = held;
	gpubpf_query_answer_held(s);
	return 0;
}

void gpubpf_peer_note_lost_counts(struct gpubpf_session *s, const struct gpubpf_peer *peer)
{
	for (uint32_t i = 0; i < peer->ndevices; i++) {
		const struct gpubpf_session_device *dev = &peer->devices[i];
		uint64_t n = gpubpf_kernel_table_uncopied(s, peer->process, dev->caps.backend, dev->caps.ordinal);

		if (n && dev->arena >= 0 && !gpubpf_arena_at(s, dev->arena)->shared && !dev->had_memory_fd)
			gpubpf_session_note(s,
					    "%s: the application ended before its maps were copied back; the counts "
					    "of its last probed launches, up to %llu, are lost",
					    dev->caps.name, (unsigned long long)n);
	}
}

static int on_read(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t seq)
{
	struct gpubpf_writer w = { 0 };

	gpubpf_support_synchronize(s, GPUBPF_SYNC_RECORDS);
	return gpubpf_peer_send(peer, GPUBPF_MSG_READ_DONE, seq, &w, NULL, 0);
}

static int on_patch(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t seq, struct gpubpf_reader *r)
{
	char why[GPUBPF_REASON_MAX + 1] = "this tool cannot patch functions";
	uint32_t patch = gpubpf_get_u32(r);
	struct gpubpf_writer w = { 0 };
	int err = -EOPNOTSUPP;

	if (r->failed || !peer->attached)
		return -EPROTO;
	if (s->server->patch)
		err = s->server->patch(peer->pid, patch, why, sizeof(why));
	gpubpf_put_u32(&w, err);
	gpubpf_put_str(&w, err < 0 ? why : "");
	err = gpubpf_peer_send(peer, GPUBPF_MSG_PATCHED, seq, &w, NULL, 0);
	gpubpf_writer_finish(&w);
	return err;
}

static int on_agent(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_packet *msg)
{
	switch (msg->type) {
	case GPUBPF_MSG_DEVICE:
		return on_device(s, peer, msg->seq, &msg->payload);
	case GPUBPF_MSG_TWIN:
		return on_twin(s, peer, msg);
	case GPUBPF_MSG_NOTE:
		return on_note(s, peer, &msg->payload);
	case GPUBPF_MSG_KEEP:
		return on_keep(s, peer, msg);
	case GPUBPF_MSG_PULLED:
		return on_pulled(peer, &msg->payload);
	case GPUBPF_MSG_HELD:
		return on_held(s, peer, &msg->payload);
	case GPUBPF_MSG_STACK:
		return gpubpf_stacks_answer(s, peer, msg->seq, &msg->payload);
	case GPUBPF_MSG_READ:
		return on_read(s, peer, msg->seq);
	case GPUBPF_MSG_DETACHED:
		return on_detached(s, peer, &msg->payload);
	case GPUBPF_MSG_PATCH:
		return on_patch(s, peer, msg->seq, &msg->payload);
	case GPUBPF_MSG_HOST:
		return gpubpf_host_programs_answer(s, peer, msg->seq);
	case GPUBPF_MSG_NAME:
		return gpubpf_host_name_answer(s, peer, msg->seq, &msg->payload);
	case GPUBPF_MSG_HELLO:
	case GPUBPF_MSG_WELCOME:
	case GPUBPF_MSG_ARENA:
	case GPUBPF_MSG_TWIN_DONE:
	case GPUBPF_MSG_PULL:
	case GPUBPF_MSG_HOLD:
	case GPUBPF_MSG_ENABLE:
	case GPUBPF_MSG_QUERY:
	case GPUBPF_MSG_ANSWER:
	case GPUBPF_MSG_BPF:
	case GPUBPF_MSG_BPF_DONE:
	case GPUBPF_MSG_STACK_DONE:
	case GPUBPF_MSG_READ_DONE:
	case GPUBPF_MSG_PATCHED:
	case GPUBPF_MSG_HOST_DONE:
	case GPUBPF_MSG_NAME_DONE:
		return -EPROTO;
	default:
		return 0; /* ignore message types of newer minor versions */
	}
}

int gpubpf_peer_message(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_packet *msg)
{
	if (peer->kind == GPUBPF_PEER_AGENT)
		return on_agent(s, peer, msg);
	if (peer->is_foreign && msg->type != GPUBPF_MSG_QUERY)
		return gpubpf_server_reject_user(s, 0);
	if (msg->type == GPUBPF_MSG_HELLO)
		return on_hello(s, peer, msg->seq, &msg->payload);
	if (msg->type == GPUBPF_MSG_QUERY) {
		peer->kind = GPUBPF_PEER_TOOL;
		return gpubpf_query_start(s, peer, msg);
	}
	if (msg->type == GPUBPF_MSG_BPF && (peer->kind == GPUBPF_PEER_NEW || peer->kind == GPUBPF_PEER_LOADER)) {
		peer->kind = GPUBPF_PEER_LOADER;
		return gpubpf_support_answer(s, peer, msg);
	}
	return -EPROTO;
}
