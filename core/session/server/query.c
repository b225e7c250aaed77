/* SPDX-License-Identifier: Apache-2.0 */
/* Queries, by which other tools read a running session's maps and report: the session's side and the client's side. */
#include "core/session/session.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/session/loaders/loaders.h"
#include "core/wire/name.h"
#include "core/session/kernel_bpf/kernel_maps.h"

#define MIRROR_WAIT_NS 1000000000ull
#define ANSWER_WAIT_MS 10000
#define ANSWER_MAX (1u << 30)

/* -- the session's side -- */

static int write_answer(struct gpubpf_session *s, uint32_t what, uint32_t flags, const char *map, FILE *out)
{
	struct gpubpf_report_opts opts = {
		.sz = sizeof(opts),
		.json = flags & GPUBPF_QUERY_JSON,
		.map = map[0] ? map : NULL,
		.maps_only = what != GPUBPF_QUERY_REPORT,
		.no_entries = what == GPUBPF_QUERY_MAPS,
		.demangle = flags & GPUBPF_QUERY_DEMANGLE,
		.json_strings = flags & GPUBPF_QUERY_JSON_STRINGS,
		.csv = flags & GPUBPF_QUERY_CSV,
	};

	return gpubpf_session__report(s, out, &opts);
}

/* Write the dump, which states whether it shows one moment. */
static int write_dump(struct gpubpf_session *s, const struct gpubpf_peer *peer, FILE *out)
{
	bool one = peer->query.holds_launches || !gpubpf_session_is_live(s);
	int err;

	s->moment = one ? GPUBPF_MOMENT_SNAPSHOT : GPUBPF_MOMENT_LIVE;
	err = write_answer(s, peer->query.what, peer->query.flags, peer->query.map, out);
	s->moment = GPUBPF_MOMENT_UNKNOWN;
	return !err && peer->query.holds_launches ? gpubpf_hold_check(s) : err;
}

static int write_links(struct gpubpf_session *s, uint32_t flags, FILE *out)
{
	gpubpf_links_list(s, flags & GPUBPF_QUERY_JSON, out);
	return 0;
}

static int write_result(struct gpubpf_session *s, struct gpubpf_peer *peer, FILE *out)
{
	uint32_t what = peer->query.what, flags = peer->query.flags;

	gpubpf_linux_maps_pass(s);
	if (what >= GPUBPF_QUERY_PIN)
		return gpubpf_pin_query(s, what, peer->query.map, peer->query.words, peer->query.nwords);
	if (what >= GPUBPF_QUERY_LOOKUP)
		return gpubpf_keyed_query(s, what, flags, peer->query.map, peer->query.words, peer->query.nwords, out);
	if (what >= GPUBPF_QUERY_PEEK)
		return gpubpf_element_query(s, what, flags, peer->query.map, peer->query.words, peer->query.nwords, out);
	if (what >= GPUBPF_QUERY_LINKS)
		return write_links(s, flags, out);
	return what == GPUBPF_QUERY_DUMP ? write_dump(s, peer, out) : write_answer(s, what, flags, peer->query.map, out);
}

/* A remark on the answer for the user, or "". */
static const char *remark(const struct gpubpf_session *s, const struct gpubpf_peer *peer)
{
	bool live = peer->query.what == GPUBPF_QUERY_DUMP && !peer->query.holds_launches && gpubpf_session_is_live(s);

	return live ? "not a snapshot: kernels may have run during the read; --consistent holds their launches" : "";
}

/* Answer the query. done: 0, or the -errno of the operation that failed, with the reason in s->error. */
static void send_answer(struct gpubpf_session *s, struct gpubpf_peer *peer, int done)
{
	struct gpubpf_writer w = { 0 };
	char *text = NULL, before[sizeof(s->error)];
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int err = -ENOMEM, fd = -1;

	memcpy(before, s->error, sizeof(before));
	peer->query.open = false;
	if (out) {
		err = done < 0 ? done : write_result(s, peer, out);
		fclose(out);
	}
	if (!err)
		fd = gpubpf_memfd_image("gpubpf-answer", text, size);
	gpubpf_put_u32(&w, fd < 0 && !err ? (uint32_t)fd : (uint32_t)err);
	gpubpf_put_str(&w, err < 0 ? s->error : remark(s, peer));
	gpubpf_peer_send(peer, GPUBPF_MSG_ANSWER, peer->query.seq, &w, &fd, fd >= 0);
	gpubpf_query_release(s, peer);
	memcpy(s->error, before, sizeof(before));
	if (fd >= 0)
		close(fd);
	free(text);
}

void gpubpf_query_release(struct gpubpf_session *s, struct gpubpf_peer *peer)
{
	if (peer->query.holds_launches)
		gpubpf_hold_end(s);
	peer->query.holds_launches = false;
	free(peer->query.words);
	peer->query.words = NULL;
}

static bool has_mirrors(const struct gpubpf_session *s)
{
	for (uint32_t i = 0; i < s->narenas; i++)
		if (!s->arenas[i].shared)
			return true;
	return false;
}

/* Attach those programs of the object that are not attached, to the kernels in their section names. *n: the number of
 * new links. */
static int attach_all(struct gpubpf_session *s, int object, uint32_t ids[GPUBPF_PLAN_LINKS], uint32_t *n)
{
	const struct gpubpf_prog *prog = NULL;

	for (*n = 0; (prog = gpubpf_session__next_program(s, prog));) {
		struct gpubpf_link *link;

		if (prog->object != object || s->links[prog - s->loaded->unit.progs].attached)
			continue;
		link = gpubpf_program__attach(prog);
		if (!link)
			return -errno;
		ids[(*n)++] = link->id;
	}
	return 0;
}

/* Attach all named programs, or none. If none are named, attach all programs of the object. */
static int attach(struct gpubpf_session *s, struct gpubpf_reader *r)
{
	char path[PATH_MAX], prog[64], pattern[GPUBPF_WHOLE_NAME_SIZE];
	uint32_t ids[GPUBPF_PLAN_LINKS], n, done = 0;
	int err = 0, object = -1;

	gpubpf_get_str(r, path, sizeof(path));
	n = gpubpf_get_count(r, 8);
	if (r->failed || n > GPUBPF_PLAN_LINKS || (path[0] && path[0] != '/'))
		return -EPROTO;
	if (path[0])
		object = gpubpf_session_join_object(s, path);
	if (path[0] && object < 0)
		return object;
	if (path[0] && !n)
		err = attach_all(s, object, ids, &done);
	for (; done < n && !err; done += !err) {
		gpubpf_get_str(r, prog, sizeof(prog));
		gpubpf_get_str(r, pattern, sizeof(pattern));
		err = r->failed ? -EPROTO : gpubpf_links_attach(s, object, prog, pattern, &ids[done]);
	}
	while (err < 0 && done)
		gpubpf_link__detach(&s->links[ids[--done]]);
	return err;
}

/* Read words into one block: their pointers, then the strings, which take no more bytes than the rest of the packet. */
static int get_words(struct gpubpf_peer *peer, struct gpubpf_reader *r)
{
	uint32_t n = gpubpf_get_count(r, 4);
	size_t left = r->end - r->at;
	char **words = malloc(n * sizeof(*words) + left + n + 1), *at = (char *)(words + n);

	if (!words)
		return -EPROTO;
	for (uint32_t i = 0; i < n; i++) {
		words[i] = at;
		gpubpf_get_str(r, at, left + 1);
		at += strlen(at) + 1;
	}
	peer->query.words = words;
	peer->query.nwords = n;
	return r->failed ? -EPROTO : 0;
}

/* Read a map name, and the words for an element. */
static int get_element(struct gpubpf_peer *peer, struct gpubpf_reader *r)
{
	gpubpf_get_str(r, peer->query.map, sizeof(peer->query.map));
	if (peer->query.what >= GPUBPF_QUERY_PEEK)
		return get_words(peer, r);
	return r->failed ? -EPROTO : 0;
}

static bool needs_no_mirrors(uint32_t what)
{
	static const bool yes[GPUBPF_NQUERIES] = {
		[GPUBPF_QUERY_LINKS] = true,  [GPUBPF_QUERY_ATTACH] = true, [GPUBPF_QUERY_DETACH] = true,
		[GPUBPF_QUERY_PUSH] = true,   [GPUBPF_QUERY_POP] = true,    [GPUBPF_QUERY_UPDATE] = true,
		[GPUBPF_QUERY_DELETE] = true, [GPUBPF_QUERY_PIN] = true,    [GPUBPF_QUERY_UNPIN] = true,
	};

	return what < GPUBPF_NQUERIES && yes[what];
}

/* Run a query that needs no mirrors, and answer it at once. */
static int run_control(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t seq, struct gpubpf_reader *r)
{
	int err = 0;
	uint32_t id;

	peer->query.seq = seq;
	if (peer->query.what == GPUBPF_QUERY_ATTACH) {
		err = attach(s, r);
	} else if (peer->query.what == GPUBPF_QUERY_DETACH) {
		id = gpubpf_get_u32(r);
		err = r->failed ? -EPROTO : gpubpf_links_detach(s, id);
	} else if (peer->query.what >= GPUBPF_QUERY_PEEK) {
		err = get_element(peer, r);
	}
	if (err == -EPROTO)
		return err;
	send_answer(s, peer, err);
	return 0;
}

/* Read a query that reads maps after their mirrors have been copied. */
static int read_query(struct gpubpf_peer *peer, struct gpubpf_reader *r)
{
	if (r->failed || peer->query.what < GPUBPF_QUERY_REPORT || peer->query.what >= GPUBPF_NQUERIES)
		return -EPROTO;
	return get_element(peer, r);
}

void gpubpf_query_answer_held(struct gpubpf_session *s)
{
	struct gpubpf_peer *peer = s->peers;
	int err;

	while (peer && !peer->query.holds_launches)
		peer = peer->next;
	if (peer && (err = gpubpf_hold_check(s)) != -EAGAIN)
		send_answer(s, peer, err);
}

static void begin_hold(struct gpubpf_session *s, struct gpubpf_peer *peer)
{
	int err = gpubpf_hold_begin(s);

	peer->query.holds_launches = !err;
	if (err < 0)
		send_answer(s, peer, err);
	else
		gpubpf_query_answer_held(s);
}

int gpubpf_query_start(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t seq, struct gpubpf_reader *r)
{
	peer->query.what = gpubpf_get_u32(r);
	peer->query.flags = gpubpf_get_u32(r);
	if (!r->failed && !peer->query.open && needs_no_mirrors(peer->query.what))
		return run_control(s, peer, seq, r);
	if (peer->query.open || read_query(peer, r) < 0)
		return -EPROTO;
	peer->query.open = true;
	peer->query.mirrors_requested = false;
	peer->query.seq = seq;
	peer->query.deadline_ns = gpubpf_now_ns() + MIRROR_WAIT_NS;
	if (peer->query.what == GPUBPF_QUERY_DUMP && peer->query.flags & GPUBPF_QUERY_CONSISTENT)
		begin_hold(s, peer);
	else if (!has_mirrors(s))
		send_answer(s, peer, 0);
	return 0;
}

void gpubpf_query_try_answer(struct gpubpf_session *s, struct gpubpf_peer *peer)
{
	bool waiting = !peer->query.mirrors_requested || s->rescues;

	if (peer->query.holds_launches) {
		gpubpf_query_answer_held(s);
		return;
	}
	peer->query.mirrors_requested = true; /* serve_timer() requests the mirrors right after this */
	for (struct gpubpf_peer *p = s->peers; p; p = p->next)
		waiting |= gpubpf_peer_is_pulling(p);
	if (!waiting || gpubpf_now_ns() > peer->query.deadline_ns)
		send_answer(s, peer, 0);
}

/* -- the client side -- */

static int connect_to(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock, err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return -errno;
	err = connect(sock, (struct sockaddr *)&addr, sizeof(addr)) < 0 ? -errno : gpubpf_msg_check_peer(sock);
	if (err < 0) {
		close(sock);
		return err;
	}
	return sock;
}

static int copy_answer(int fd, FILE *out)
{
	int64_t size = gpubpf_memfd_size(fd, ANSWER_MAX);
	char block[65536];
	int64_t at = 0;

	if (size < 0)
		return size;
	while (at < size) {
		ssize_t n = pread(fd, block, sizeof(block), at);

		if (n <= 0)
			return -EIO;
		if (fwrite(block, 1, n, out) != (size_t)n)
			return -errno;
		at += n;
	}
	return fflush(out) ? -errno : 0;
}

static const char *error_text(int err)
{
	return err == -EPIPE || err == -ECONNRESET ? "the session ended before it answered" : strerror(-err);
}

static int receive_answer(int sock, FILE *out, char *why, size_t why_size)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	struct gpubpf_packet msg;
	void *buffer = malloc(GPUBPF_MSG_BUF);
	int err = -ENOMEM;

	if (buffer)
		err = poll(&p, 1, ANSWER_WAIT_MS) > 0 ? gpubpf_msg_recv(sock, 0, buffer, &msg) : -ETIMEDOUT;
	if (!err && msg.type != GPUBPF_MSG_ANSWER) {
		gpubpf_msg_close(&msg);
		err = -EPROTO;
	}
	snprintf(why, why_size, "%s", err ? error_text(err) : "");
	if (!err) {
		err = (int32_t)gpubpf_get_u32(&msg.payload);
		gpubpf_get_str(&msg.payload, why, why_size);
		if (!err && msg.payload.failed)
			err = -EPROTO;
		if (!err && (err = copy_answer(msg.nfds ? msg.fds[0] : -1, out)))
			snprintf(why, why_size, "%s", strerror(-err));
		gpubpf_msg_close(&msg);
	}
	free(buffer);
	return err;
}

int gpubpf_query_request(const char *path, uint32_t what, uint32_t flags, struct gpubpf_writer *more, FILE *out,
			 char *why, size_t why_size)
{
	struct gpubpf_writer w = { 0 };
	int sock = connect_to(path), err;

	if (sock < 0) {
		snprintf(why, why_size,
			 "no session answers there (%s); it may have ended; gpubpf run -v prints the "
			 "path of its own",
			 strerror(-sock));
		gpubpf_writer_finish(more);
		return sock;
	}
	gpubpf_put_u32(&w, what);
	gpubpf_put_u32(&w, flags);
	gpubpf_put_raw(&w, more->data, more->size);
	w.failed |= more->failed;
	gpubpf_writer_finish(more);
	err = gpubpf_msg_send(sock, 0, GPUBPF_MSG_QUERY, 1, &w, NULL, 0);
	gpubpf_writer_finish(&w);
	snprintf(why, why_size, "%s", error_text(err));
	if (!err)
		err = receive_answer(sock, out, why, why_size);
	close(sock);
	return err;
}
