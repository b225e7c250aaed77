/* SPDX-License-Identifier: Apache-2.0 */
/* The session's socket and event loop. One turn of the loop waits for sockets, builders, and the timer for rings. */
#include "core/session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/session/loaders/loaders.h"
#include "core/session/kernel_bpf/kernel_maps.h"
#include "core/session/stacks/stacks.h"

enum { TAG_LISTENER, TAG_WAKE, TAG_TIMER, TAG_RESCUE, TAG_PEERS };

#define MAX_PACKETS_PER_TURN 64          /* maximum packets from one peer in a turn, so that no peer starves
					  * the others */
#define FRESH_WAIT_NS 1000000000ull /* maximum wait for new mirrors in gpubpf_session_refresh_mirrors() */
#define INTERVAL_BUSY_NS 1000000ull
#define INTERVAL_IDLE_NS 50000000ull

static int watch_fd(struct gpubpf_session *s, int fd, uint64_t tag)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = tag };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int gpubpf_server_watch_rescue(struct gpubpf_session *s, int pidfd)
{
	return watch_fd(s, pidfd, TAG_RESCUE);
}

static int listen_at(struct gpubpf_session *s)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	strcpy(addr.sun_path, s->path);
	s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listener < 0)
		return -errno;
	unlink(s->path);
	if (bind(s->listener, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(s->listener, 64) < 0)
		return -errno;
	return chmod(s->path, 0600) < 0 ? -errno : 0;
}

int gpubpf_server_open(struct gpubpf_session *s)
{
	int err;

	s->next_peer = TAG_PEERS;
	s->buffer = malloc(GPUBPF_MSG_BUF);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	s->spare = eventfd(0, EFD_CLOEXEC);
	if (!s->buffer || s->epoll < 0 || s->wake < 0 || s->timer < 0 || s->spare < 0)
		return gpubpf_session_fail(s, -ENOMEM, "cannot open the session: %s", strerror(errno));
	err = listen_at(s);
	if (!err && s->loaders)
		err = gpubpf_pins_open(s);
	if (!err)
		err = watch_fd(s, s->listener, TAG_LISTENER);
	if (!err)
		err = watch_fd(s, s->wake, TAG_WAKE);
	if (!err)
		err = watch_fd(s, s->timer, TAG_TIMER);
	if (err < 0)
		gpubpf_session_fail(s, err, "%s: cannot open the session's socket: %s", s->path, strerror(-err));
	return err;
}

static void close_peer(struct gpubpf_session *s, struct gpubpf_peer *peer)
{
	struct gpubpf_peer **at = &s->peers;

	while (*at != peer)
		at = &(*at)->next;
	*at = peer->next;
	s->npeers--;
	gpubpf_query_release(s, peer);
	if (peer->sock >= 0)
		close(peer->sock);
	for (uint32_t i = 0; i < peer->ndevices; i++)
		gpubpf_rescue(s, &peer->devices[i]);
	free(peer->devices);
	gpubpf_peer_forget_images(s, peer);
	gpubpf_stacks_forget_peer(peer);
	free(peer->parked.data);
	free(peer);
}

static int add_peer(struct gpubpf_session *s, int sock)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);
	struct gpubpf_peer *peer;

	if (s->npeers == GPUBPF_MAX_PEERS)
		return -EMFILE;
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0)
		return -errno;
	if (cred.uid != geteuid()) {
		gpubpf_session_note(s, "rejected a process of user %u: a session accepts only processes of its owner",
				    cred.uid);
		return -EPERM;
	}
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return -ENOMEM;
	peer->id = s->next_peer++;
	peer->sock = sock;
	peer->pid = cred.pid;
	if (watch_fd(s, sock, peer->id) < 0) {
		free(peer);
		return -ENOMEM;
	}
	peer->next = s->peers;
	s->peers = peer;
	s->npeers++;
	return 0;
}

/* Accept and close one connection when the process has no free descriptor: closing s->spare makes room. A connection
 * that stays in the queue would wake the loop again and again. */
static int reject_peer(struct gpubpf_session *s)
{
	int sock;

	if (s->spare < 0)
		return -1;
	close(s->spare);
	sock = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
	if (sock >= 0)
		close(sock);
	s->spare = eventfd(0, EFD_CLOEXEC);
	gpubpf_session_note(s, "a process continues unprobed: the session has too many open files; raise the limit "
			       "(ulimit -n)");
	return sock;
}

static int accept_peers(struct gpubpf_session *s)
{
	int sock, n = 0;

	for (; n < MAX_PACKETS_PER_TURN; n++) {
		sock = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
		if (sock < 0 && (errno != EMFILE || reject_peer(s) < 0))
			break;
		if (sock >= 0 && add_peer(s, sock) < 0)
			close(sock);
	}
	return n;
}

static const char *peer_name(const struct gpubpf_peer *peer)
{
	return peer->exe[0] ? peer->exe : "unknown program";
}

/* Handle the packets that a peer has sent, and return their number. The peer may be closed afterwards. */
static int serve_peer(struct gpubpf_session *s, uint64_t id)
{
	struct gpubpf_peer *peer = gpubpf_peer_find(s, id);
	int n = 0, err = 0;

	while (peer && n < MAX_PACKETS_PER_TURN) {
		struct gpubpf_packet msg;

		err = gpubpf_msg_recv(peer->sock, MSG_DONTWAIT, s->buffer, &msg);
		if (err < 0)
			break;
		if (msg.lost)
			gpubpf_session_note(s,
					    "lost a message of %s (pid %u): the session has too many open files; "
					    "raise the limit (ulimit -n)",
					    peer_name(peer), peer->pid);
		err = gpubpf_peer_message(s, peer, &msg);
		gpubpf_msg_close(&msg);
		n++;
		if (err < 0)
			break;
	}
	if (peer && err == -EPROTO)
		gpubpf_session_note(s,
				    "%s (pid %u) broke the session's protocol and continues unprobed; use a tool "
				    "and an agent of the same version",
				    peer_name(peer), peer->pid);
	if (peer && err < 0 && err != -EAGAIN && err != -EWOULDBLOCK) {
		gpubpf_peer_note_lost_counts(s, peer);
		close_peer(s, peer);
	}
	return n;
}

static void set_interval(struct gpubpf_session *s, uint64_t ns)
{
	struct itimerspec when = {
		.it_value = { .tv_nsec = ns },
		.it_interval = { .tv_nsec = ns },
	};

	if (ns == s->interval_ns)
		return;
	s->interval_ns = ns;
	timerfd_settime(s->timer, 0, &when, NULL);
}

/* Set the timer for rings: a short period while records arrive, a long one while none do, and off if there is no
 * writer. */
static void adapt_interval(struct gpubpf_session *s, uint64_t records)
{
	uint64_t ns = s->interval_ns ? s->interval_ns : INTERVAL_IDLE_NS;
	bool carries = gpubpf_linux_maps_is_active(s);

	if (!s->bpf && !carries && (!s->npeers || !(s->has_rings || gpubpf_session_has_mirrors(s))))
		ns = 0;
	else if (records)
		ns = INTERVAL_BUSY_NS;
	else if (ns < INTERVAL_IDLE_NS)
		ns *= 2;
	if (carries && ns > GPUBPF_LINUX_PASS_NS)
		ns = GPUBPF_LINUX_PASS_NS;
	set_interval(s, ns > INTERVAL_IDLE_NS ? INTERVAL_IDLE_NS : ns);
}

/* Answer queries whose mirrors have arrived, and request mirrors. All mirrors are requested only if a query or
 * synchronized maps need them, because agents copy whole mirrors. */
static void serve_timer(struct gpubpf_session *s)
{
	bool all = false, anew = false;
	struct gpubpf_peer *peer;

	for (peer = s->peers; peer; peer = peer->next) {
		anew |= peer->query.open && !peer->query.holds_launches && !peer->query.mirrors_requested;
		if (peer->query.open)
			gpubpf_query_try_answer(s, peer);
		all |= peer->query.open && !peer->query.holds_launches;
	}
	all |= gpubpf_linux_maps_need_mirrors(s);
	for (peer = s->peers; peer && (all || s->has_rings); peer = peer->next)
		gpubpf_peer_pull_mirrors(s, peer, all, anew);
}

void gpubpf_session_refresh_mirrors(struct gpubpf_session *s)
{
	uint64_t until = gpubpf_now_ns() + FRESH_WAIT_NS;

	if (s->state == GPUBPF_SESSION_STARTED)
		gpubpf_session_pull_mirrors(s);
	while (s->state == GPUBPF_SESSION_STARTED && gpubpf_session_is_pulling(s) && gpubpf_now_ns() < until)
		gpubpf_server_poll(s, 10);
}

static void drain_fd(int fd)
{
	uint64_t count;

	while (read(fd, &count, sizeof(count)) > 0)
		;
}

static int serve_event(struct gpubpf_session *s, uint64_t tag)
{
	switch (tag) {
	case TAG_LISTENER:
		return accept_peers(s);
	case TAG_WAKE:
		drain_fd(s->wake);
		return gpubpf_twins_answer(s);
	case TAG_TIMER:
		drain_fd(s->timer);
		gpubpf_bpf_sweep(s);
		serve_timer(s);
		return 0;
	case TAG_RESCUE:
		gpubpf_rescue_ended(s);
		return 1;
	default:
		return serve_peer(s, tag);
	}
}

int gpubpf_server_poll(struct gpubpf_session *s, int timeout_ms)
{
	struct epoll_event events[32];
	int n = epoll_wait(s->epoll, events, 32, timeout_ms);
	int handled = 0;
	uint64_t records;

	if (n < 0)
		return errno == EINTR ? 0 : gpubpf_session_fail(s, -errno, "epoll_wait: %s", strerror(errno));
	for (int i = 0; i < n; i++)
		handled += serve_event(s, events[i].data.u64);
	gpubpf_bpf_resume(s);
	gpubpf_linux_maps_poll(s);
	records = gpubpf_reader_run(s, false);
	adapt_interval(s, records);
	return handled + (int)records;
}

int gpubpf_session__enable(struct gpubpf_session *s, bool on)
{
	if (s->state != GPUBPF_SESSION_STARTED)
		return gpubpf_session_fail(s, -EINVAL, "the session is not running");
	s->enabled = on;
	__atomic_store_n(&s->table->enabled, on, __ATOMIC_RELEASE);
	for (struct gpubpf_peer *peer = s->peers; peer; peer = peer->next) {
		struct gpubpf_writer w = { 0 };

		if (peer->kind != GPUBPF_PEER_AGENT)
			continue;
		gpubpf_put_u32(&w, on);
		gpubpf_peer_send(peer, GPUBPF_MSG_ENABLE, 0, &w, NULL, 0);
	}
	return 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void gpubpf_server_close(struct gpubpf_session *s)
{
	while (s->peers)
		close_peer(s, s->peers);
	gpubpf_rescues_finish(s);
	if (s->listener >= 0) {
		unlink(s->path);
		gpubpf_pins_remove(s->path);
	}
	close_fd(&s->listener);
	close_fd(&s->timer);
	close_fd(&s->wake);
	close_fd(&s->epoll);
	close_fd(&s->spare);
	free(s->buffer);
	s->buffer = NULL;
}
