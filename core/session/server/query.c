/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles queries, by which other command-line processes read the maps and the report of a running session. This file
 * has the session's part and the client's part.
 */
#include "private.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/wire/name.h"

#define MIRROR_WAIT_NS 1000000000ull
#define ANSWER_WAIT_MS 10000
#define INFO_WAIT_MS 1000 /* a list of sessions must not wait long for one that is stopped */
#define ANSWER_MAX (1u << 30)
#define INFO_MAX (1u << 24)        /* any user's session may send this answer */
#define OBJECT_MAX (1u << 28) /* maximum bytes of an object that a query passes */

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

/* Write the dump. It states whether all maps are from one moment. */
static int write_dump(struct gpubpf_session *s, const struct gpubpf_peer *peer, FILE *out)
{
	bool one = peer->query.holds_launches || !gpubpf_session_is_live(s);
	int err;

	gpubpf_report_set_moment(s, one ? GPUBPF_MOMENT_SNAPSHOT : GPUBPF_MOMENT_LIVE);
	err = write_answer(s, peer->query.what, peer->query.flags, peer->query.map, out);
	gpubpf_report_set_moment(s, GPUBPF_MOMENT_UNKNOWN);
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

	if (what == GPUBPF_QUERY_INFO) {
		gpubpf_info_write(s, out);
		return 0;
	}
	gpubpf_support_synchronize(s, GPUBPF_SYNC_MAPS);
	if (what == GPUBPF_QUERY_SET)
		return gpubpf_setting_query(s, flags, peer->query.words, peer->query.nwords, out);
	if (what >= GPUBPF_QUERY_PIN)
		return gpubpf_support_pin(s, what, peer->query.map, peer->query.words, peer->query.nwords);
	if (what >= GPUBPF_QUERY_LOOKUP)
		return gpubpf_keyed_query(s, what, flags, peer->query.map, peer->query.words, peer->query.nwords, out);
	if (what >= GPUBPF_QUERY_PEEK)
		return gpubpf_element_query(s, what, flags, peer->query.map, peer->query.words, peer->query.nwords, out);
	if (what >= GPUBPF_QUERY_LINKS)
		return write_links(s, flags, out);
	return what == GPUBPF_QUERY_DUMP ? write_dump(s, peer, out) : write_answer(s, what, flags, peer->query.map, out);
}

/* Returns a remark for the user about the answer, or "". */
static const char *remark(const struct gpubpf_session *s, const struct gpubpf_peer *peer)
{
	bool live = peer->query.what == GPUBPF_QUERY_DUMP && !peer->query.holds_launches && gpubpf_session_is_live(s);

	return live ? "not a snapshot: kernels may have run while the maps were read; use --consistent to hold "
		      "launches" :
		      "";
}

/*
 * Answer the query. done: 0, or the -errno of an operation that has failed, with the reason in gpubpf_session__error().
 */
static void send_answer(struct gpubpf_session *s, struct gpubpf_peer *peer, int done)
{
	struct gpubpf_writer w = { 0 };
	char *text = NULL, before[GPUBPF_ERROR_SIZE];
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int err = -ENOMEM, fd = -1;

	snprintf(before, sizeof(before), "%s", gpubpf_session__error(s));
	peer->query.open = false;
	if (out) {
		err = done < 0 ? done : write_result(s, peer, out);
		fclose(out);
	}
	if (!err)
		fd = gpubpf_memfd_image("gpubpf-answer", text, size);
	gpubpf_put_u32(&w, fd < 0 && !err ? (uint32_t)fd : (uint32_t)err);
	gpubpf_put_str(&w, err < 0 ? gpubpf_session__error(s) : remark(s, peer));
	gpubpf_peer_send(peer, GPUBPF_MSG_ANSWER, peer->query.seq, &w, &fd, fd >= 0);
	gpubpf_query_release(s, peer);
	gpubpf_session_fail(s, err, "%s", before);
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

/*
 * Attach all programs of the object that are not attached, with the patterns in their section names. Stores the number
 * of new links in *n.
 */
static int attach_all(struct gpubpf_session *s, int object, uint32_t ids[GPUBPF_PLAN_LINKS], uint32_t *n)
{
	const struct gpubpf_prog *prog = NULL;

	for (*n = 0; (prog = gpubpf_session__next_program(s, prog));) {
		struct gpubpf_link *link;

		if (prog->object != object || prog->is_run ||
		    gpubpf_link_is_attached(gpubpf_session_link(s, prog - gpubpf_session_unit(s)->progs)))
			continue;
		link = gpubpf_program__attach(prog);
		if (!link)
			return -errno;
		ids[(*n)++] = gpubpf_link__id(link);
	}
	return 0;
}

/* Add the object whose bytes are in the memory file. Returns the object's index, or -errno. */
static int join_memory(struct gpubpf_session *s, const char *name, int fd)
{
	int64_t size = gpubpf_memfd_size(fd, OBJECT_MAX);
	void *data = size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	struct gpubpf_load_image image = { data, size };
	int object;

	if (data == MAP_FAILED)
		return -EPROTO;
	object = gpubpf_session_join_image(s, name, &image);
	munmap(data, size);
	return object;
}

/*
 * Attach all programs that the query names. If one fails, attach none. If the query names none, attach all programs of
 * the object. If the packet has a descriptor, it contains the object, and `path` is its name.
 */
static int attach(struct gpubpf_session *s, struct gpubpf_reader *r, int fd)
{
	char path[PATH_MAX], prog[64], pattern[GPUBPF_WHOLE_NAME_SIZE];
	uint32_t ids[GPUBPF_PLAN_LINKS], n, done = 0;
	int err = 0, object = -1;

	gpubpf_get_str(r, path, sizeof(path));
	n = gpubpf_get_count(r, 8);
	if (r->failed || n > GPUBPF_PLAN_LINKS || (fd < 0 ? path[0] && path[0] != '/' : !path[0]))
		return -EPROTO;
	if (path[0])
		object = fd < 0 ? gpubpf_session_join_object(s, path) : join_memory(s, path, fd);
	if (path[0] && object < 0)
		return object;
	if (path[0] && !n)
		err = attach_all(s, object, ids, &done);
	for (; done < n && !err; done += !err) {
		gpubpf_get_str(r, prog, sizeof(prog));
		gpubpf_get_str(r, pattern, sizeof(pattern));
		err = r->failed ? -EPROTO : gpubpf_links_attach(s, object, prog, pattern, 0, &ids[done]);
	}
	while (err < 0 && done)
		gpubpf_link__detach(gpubpf_session_link(s, ids[--done]));
	return err;
}

/*
 * Read words into one allocation: pointers to the words, then the strings. The strings take at most as many bytes as
 * the rest of the packet.
 */
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

/* Read the name of a map, and the words that describe an element. */
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
		[GPUBPF_QUERY_INFO] = true,   [GPUBPF_QUERY_SET] = true,
	};

	return what < GPUBPF_NQUERIES && yes[what];
}

/* Run a query that needs no mirrors, and answer it immediately. */
static int run_control(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_packet *msg)
{
	struct gpubpf_reader *r = &msg->payload;
	int err = 0;

	peer->query.seq = msg->seq;
	if (peer->query.what == GPUBPF_QUERY_ATTACH) {
		err = attach(s, r, msg->nfds ? msg->fds[0] : -1);
	} else if (peer->query.what == GPUBPF_QUERY_DETACH) {
		err = get_words(peer, r);
		if (!err)
			err = gpubpf_links_detach(s, peer->query.words, peer->query.nwords);
	} else if (peer->query.what >= GPUBPF_QUERY_PEEK && peer->query.what != GPUBPF_QUERY_INFO) {
		err = get_element(peer, r);
	}
	if (err == -EPROTO)
		return err;
	send_answer(s, peer, err);
	return 0;
}

/* Read a query that is answered after mirrors have been copied. */
static int read_query(struct gpubpf_peer *peer, struct gpubpf_reader *r)
{
	if (r->failed || peer->query.what < GPUBPF_QUERY_REPORT || peer->query.what >= GPUBPF_NQUERIES)
		return -EPROTO;
	return get_element(peer, r);
}

void gpubpf_query_answer_held(struct gpubpf_session *s)
{
	struct gpubpf_peer *peer = gpubpf_peers_first(s);
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

int gpubpf_query_start(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_packet *msg)
{
	struct gpubpf_reader *r = &msg->payload;

	peer->query.what = gpubpf_get_u32(r);
	peer->query.flags = gpubpf_get_u32(r);
	if (!r->failed && !peer->query.open && needs_no_mirrors(peer->query.what))
		return run_control(s, peer, msg);
	if (peer->query.open || read_query(peer, r) < 0)
		return -EPROTO;
	peer->query.open = true;
	peer->query.mirrors_requested = false;
	peer->query.seq = msg->seq;
	peer->query.deadline_ns = gpubpf_now_ns() + MIRROR_WAIT_NS;
	if (peer->query.what == GPUBPF_QUERY_DUMP && peer->query.flags & GPUBPF_QUERY_CONSISTENT)
		begin_hold(s, peer);
	else if (!gpubpf_session_has_mirrors(s))
		send_answer(s, peer, 0);
	return 0;
}

void gpubpf_query_try_answer(struct gpubpf_session *s, struct gpubpf_peer *peer)
{
	bool waiting = !peer->query.mirrors_requested || s->server->rescues;

	if (peer->query.holds_launches) {
		gpubpf_query_answer_held(s);
		return;
	}
	peer->query.mirrors_requested = true; /* serve_timer() requests the mirrors directly after this function */
	for (struct gpubpf_peer *p = gpubpf_peers_first(s); p; p = p->next)
		waiting |= gpubpf_peer_is_pulling(p);
	if (!waiting || gpubpf_now_ns() > peer->query.deadline_ns)
		send_answer(s, peer, 0);
}

/* -- the client side -- */

/* Returns 0 if the session belongs to this user, or if this user is root. */
static int check_session(int sock)
{
	int err = gpubpf_msg_check_peer(sock);

	return err == -EPERM && !geteuid() ? 0 : err;
}

static int wait_ms_of(uint32_t what)
{
	return what == GPUBPF_QUERY_INFO ? INFO_WAIT_MS : ANSWER_WAIT_MS;
}

/* A stopped session accepts no connection once its queue is full, so connect(2) has a time limit too. */
static int connect_to(const char *path, uint32_t what)
{
	const struct timeval limit = { wait_ms_of(what) / 1000, 0 };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock, err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return -errno;
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	err = connect(sock, (struct sockaddr *)&addr, sizeof(addr)) < 0 ? -errno : check_session(sock);
	if (err < 0) {
		close(sock);
		return err;
	}
	return sock;
}

static int copy_answer(int fd, size_t max, FILE *out)
{
	int64_t size = gpubpf_memfd_size(fd, max);
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

static const char *get_error_text(int err)
{
	return err == -EPIPE || err == -ECONNRESET ? "the session ended before it answered" : strerror(-err);
}

static int receive_answer(int sock, uint32_t what, FILE *out, char *why, size_t why_size)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	struct gpubpf_packet msg;
	void *buffer = malloc(GPUBPF_MSG_BUF);
	int err = -ENOMEM, n;

	if (buffer) {
		n = poll(&p, 1, wait_ms_of(what));
		err = n < 0 ? -errno : n ? gpubpf_msg_recv(sock, 0, buffer, &msg) : -ETIMEDOUT;
	}
	if (!err && msg.type != GPUBPF_MSG_ANSWER) {
		gpubpf_msg_close(&msg);
		err = -EPROTO;
	}
	snprintf(why, why_size, "%s", err ? get_error_text(err) : "");
	if (!err) {
		err = (int32_t)gpubpf_get_u32(&msg.payload);
		gpubpf_get_str(&msg.payload, why, why_size);
		if (!err && msg.payload.failed)
			err = -EPROTO;
		if (!err && (err = copy_answer(msg.nfds ? msg.fds[0] : -1,
					       what == GPUBPF_QUERY_INFO ? INFO_MAX : ANSWER_MAX, out)))
			snprintf(why, why_size, "%s", strerror(-err));
		gpubpf_msg_close(&msg);
	}
	free(buffer);
	return err;
}

int gpubpf_query_request(const char *path, uint32_t what, uint32_t flags, struct gpubpf_writer *more, FILE *out,
			 char *why, size_t why_size)
{
	return gpubpf_query_request_with(path, what, flags, more, -1, out, why, why_size);
}

int gpubpf_query_request_with(const char *path, uint32_t what, uint32_t flags, struct gpubpf_writer *more, int fd,
			      FILE *out, char *why, size_t why_size)
{
	struct gpubpf_writer w = { 0 };
	int sock = connect_to(path, what), err;

	if (sock < 0) {
		snprintf(why, why_size,
			 "no session answers at this socket (%s); it may have ended; gpubpf run -v prints the path "
			 "of its socket",
			 strerror(-sock));
		gpubpf_writer_finish(more);
		return sock;
	}
	gpubpf_put_u32(&w, what);
	gpubpf_put_u32(&w, flags);
	gpubpf_put_raw(&w, more->data, more->size);
	w.failed |= more->failed;
	gpubpf_writer_finish(more);
	err = gpubpf_msg_send(sock, 0, GPUBPF_MSG_QUERY, 1, &w, &fd, fd >= 0);
	gpubpf_writer_finish(&w);
	snprintf(why, why_size, "%s", get_error_text(err));
	if (!err)
		err = receive_answer(sock, what, out, why, why_size);
	close(sock);
	return err;
}
