/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the session's socket and event loop. A turn of the loop waits for sockets, for builders, and for the timer that
 * reads rings.
 */
#include "private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/session/maps/host_calls.h"
#include "core/session/report/launch_times.h"
#include "core/session/stacks/stacks.h"

enum { TAG_LISTENER, TAG_WAKE, TAG_TIMER, TAG_RESCUE };

_Static_assert(TAG_RESCUE < GPUBPF_FIRST_PEER, "ids of peers are tags too");

#define MAX_PACKETS_PER_TURN 64          /* maximum packets per peer in one turn, so that no peer waits long */
#define FRESH_WAIT_NS 1000000000ull /* maximum time to wait for mirrors in gpubpf_session_refresh_mirrors() */
#define INTERVAL_BUSY_NS 1000000ull
#define INTERVAL_IDLE_NS 50000000ull

int gpubpf_server_create(struct gpubpf_session *s)
{
	s->server = calloc(1, sizeof(*s->server));
	if (!s->server)
		return -ENOMEM;
	s->server->listener = s->server->epoll = s->server->wake = s->server->timer = s->server->spare = -1;
	return 0;
}

void gpubpf_server_destroy(struct gpubpf_session *s)
{
	if (!s->server)
		return;
	gpubpf_server_close(s);
	free(s->server);
	s->server = NULL;
}

const char *gpubpf_session__path(const struct gpubpf_session *s)
{
	return s->server->path[0] ? s->server->path : NULL;
}

int gpubpf_session__fd(const struct gpubpf_session *s)
{
	return s->server->epoll;
}

static int watch_fd(struct gpubpf_session *s, int fd, uint64_t tag)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = tag };

	return epoll_ctl(s->server->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int gpubpf_server_watch_rescue(struct gpubpf_session *s, int pidfd)
{
	return watch_fd(s, pidfd, TAG_RESCUE);
}

static int listen_at(struct gpubpf_session *s)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	strcpy(addr.sun_path, s->server->path);
	s->server->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->server->listener < 0)
		return -errno;
	unlink(s->server->path);
	if (bind(s->server->listener, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(s->server->listener, 64) < 0)
		return -errno;
	return chmod(s->server->path, 0600) < 0 ? -errno : 0;
}

int gpubpf_server_open(struct gpubpf_session *s)
{
	int err;

	s->server->buffer = malloc(GPUBPF_MSG_BUF);
	s->server->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->server->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->server->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	s->server->spare = eventfd(0, EFD_CLOEXEC);
	if (!s->server->buffer || s->server->epoll < 0 || s->server->wake < 0 || s->server->timer < 0 ||
	    s->server->spare < 0)
		return gpubpf_session_fail(s, -ENOMEM, "cannot open the session: %s", strerror(errno));
	err = listen_at(s);
	if (!err && s->admits_loaders)
		err = gpubpf_support_event(s, GPUBPF_SUPPORT_LISTENING);
	if (!err)
		err = watch_fd(s, s->server->listener, TAG_LISTENER);
	if (!err)
		err = watch_fd(s, s->server->wake, TAG_WAKE);
	if (!err)
		err = watch_fd(s, s->server->timer, TAG_TIMER);
	if (err < 0)
		gpubpf_session_fail(s, err, "%s: cannot open the session's socket: %s", s->server->path, strerror(-err));
	return err;
}

int gpubpf_server_wake_fd(const struct gpubpf_session *s)
{
	return s->server->wake;
}

static void close_peer(struct gpubpf_session *s, struct gpubpf_peer *peer)
{
	gpubpf_peers_remove(s, peer);
	gpubpf_host_calls_update(s);
	gpubpf_query_release(s, peer);
	if (peer->sock >= 0)
		close(peer->sock);
	for (uint32_t i = 0; i < peer->ndevices; i++)
		gpubpf_rescue(s, &peer->devices[i]);
	free(peer->devices);
	gpubpf_peer_forget_images(s, peer);
	gpubpf_stacks_forget_peer(peer);
	free(peer->parked);
	free(peer);
}

int gpubpf_server_reject_user(struct gpubpf_session *s, uint32_t user)
{
	gpubpf_session_note(s, "rejected a process of user %u: a session accepts only processes of its owner", user);
	return -EPERM;
}

/*
 * attached: the tool attached to the process. Then the process may belong to another user, because ptrace(2) has
 * checked the tool's permission.
 */
static int add_peer(struct gpubpf_session *s, int sock, bool attached)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);
	struct gpubpf_peer *peer;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0)
		return -errno;
	if (!attached && cred.uid != geteuid() && cred.uid)
		return gpubpf_server_reject_user(s, cred.uid);
	peer = gpubpf_peers_add(s, sock, cred.pid);
	if (!peer)
		return -ENOMEM;
	if (watch_fd(s, sock, peer->id) < 0) {
		gpubpf_peers_remove(s, peer);
		free(peer);
		return -ENOMEM;
	}
	peer->attached = attached;
	peer->is_foreign = !attached && cred.uid != geteuid();
	return 0;
}

int gpubpf_server_adopt(struct gpubpf_session *s, int sock)
{
	int domain = 0, type = 0, err;
	socklen_t size = sizeof(int);

	/* the process chose the descriptor */
	if (getsockopt(sock, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0 || domain != AF_UNIX ||
	    getsockopt(sock, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_SEQPACKET)
		return gpubpf_session_fail(s, -EPROTO, "the process sent a descriptor that is not the session's socket");
	err = add_peer(s, sock, true);

	s->attaches = true;
	return err < 0 ? gpubpf_session_fail(s, err, "the connection to a process cannot be served: %s", strerror(-err)) :
			 0;
}

void gpubpf_server_set_patch(struct gpubpf_session *s, int (*patch)(pid_t pid, bool patch, char *why, size_t size))
{
	s->server->patch = patch;
}

bool gpubpf_server_has_attached(const struct gpubpf_session *s, uint32_t pid)
{
	for (struct gpubpf_peer *peer = gpubpf_peers_first(s); peer; peer = peer->next)
		if (peer->attached && peer->pid == pid)
			return true;
	return false;
}

uint32_t gpubpf_server_count_attached(const struct gpubpf_session *s)
{
	uint32_t n = 0;

	for (struct gpubpf_peer *peer = gpubpf_peers_first(s); peer; peer = peer->next)
		n += peer->attached;
	return n;
}

uint32_t gpubpf_server_detach(struct gpubpf_session *s, uint32_t ms)
{
	uint64_t deadline = gpubpf_now_ns() + ms * 1000000ull;

	for (struct gpubpf_peer *peer = gpubpf_peers_first(s); peer; peer = peer->next) {
		struct gpubpf_writer nothing = { 0 };

		if (peer->attached)
			gpubpf_peer_send(peer, GPUBPF_MSG_DETACH, 0, &nothing, NULL, 0);
	}
	while (gpubpf_server_count_attached(s) && gpubpf_now_ns() < deadline)
		gpubpf_server_poll(s, 20);
	return gpubpf_server_count_attached(s);
}

/*
 * Accept and close one connection when the process has no free descriptor. To get one, the function closes
 * s->server->spare. A connection that stays in the queue would wake the loop again and again.
 */
static int reject_peer(struct gpubpf_session *s)
{
	int sock;

	if (s->server->spare < 0)
		return -1;
	close(s->server->spare);
	sock = accept4(s->server->listener, NULL, NULL, SOCK_CLOEXEC);
	if (sock >= 0)
		close(sock);
	s->server->spare = eventfd(0, EFD_CLOEXEC);
	gpubpf_session_note(s, "an application continues unprobed, because gpubpf has too many open files; raise the "
			       "limit (ulimit -n)");
	return sock;
}

static int accept_peers(struct gpubpf_session *s)
{
	int sock, n = 0;

	for (; n < MAX_PACKETS_PER_TURN; n++) {
		sock = accept4(s->server->listener, NULL, NULL, SOCK_CLOEXEC);
		if (sock < 0 && (errno != EMFILE || reject_peer(s) < 0))
			break;
		if (sock >= 0 && add_peer(s, sock, false) < 0)
			close(sock);
	}
	return n;
}

/* Returns the name of the peer's program. A peer that has sent no name has the name of its process. */
static const char *get_peer_name(const struct gpubpf_peer *peer, char name[32])
{
	char path[64];
	FILE *in;

	if (peer->exe[0])
		return peer->exe;
	snprintf(path, sizeof(path), "/proc/%u/comm", peer->pid);
	in = fopen(path, "re");
	if (!in || !fgets(name, 32, in))
		snprintf(name, 32, "a program that has ended");
	if (in)
		fclose(in);
	name[strcspn(name, "\n")] = 0;
	return name;
}

/* A peer without a name is a tool, or an agent whose first message has an error. */
static void note_invalid_message(struct gpubpf_session *s, const struct gpubpf_peer *peer)
{
	char name[32];

	if (peer->exe[0])
		gpubpf_session_note(s,
				    "%s (pid %u) sent an invalid message and continues unprobed; use a tool and an "
				    "agent of the same version",
				    peer->exe, peer->pid);
	else
		gpubpf_session_note(s,
				    "%s (pid %u) sent an invalid message and gets no answer; use only gpubpf %s with this "
				    "session, or set another XDG_RUNTIME_DIR for the other version",
				    get_peer_name(peer, name), peer->pid, GPUBPF_VERSION);
}

/* Handle the packets that a peer has sent, and return their number. The peer may be closed afterwards. */
static int serve_peer(struct gpubpf_session *s, uint64_t id)
{
	struct gpubpf_peer *peer = gpubpf_peer_find(s, id);
	int n = 0, err = 0;

	while (peer && n < MAX_PACKETS_PER_TURN) {
		struct gpubpf_packet msg;
		char name[32];

		err = gpubpf_msg_recv(peer->sock, MSG_DONTWAIT, s->server->buffer, &msg);
		if (err < 0)
			break;
		if (msg.lost)
			gpubpf_session_note(s,
					    "lost a message of %s (pid %u), because gpubpf has too many open files; "
					    "raise the limit (ulimit -n)",
					    get_peer_name(peer, name), peer->pid);
		err = gpubpf_peer_message(s, peer, &msg);
		gpubpf_msg_close(&msg);
		n++;
		if (err < 0)
			break;
	}
	if (peer && err == -EPROTO)
		note_invalid_message(s, peer);
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

	if (ns == s->server->interval_ns)
		return;
	s->server->interval_ns = ns;
	timerfd_settime(s->server->timer, 0, &when, NULL);
}

/*
 * Set the timer that reads rings. Its period is short while records arrive, and long while none do. The timer is off if
 * no process can write records. The maximum period is `longest`, unless that is 0.
 */
static void adapt_interval(struct gpubpf_session *s, uint64_t records, uint64_t longest)
{
	uint64_t ns = s->server->interval_ns ? s->server->interval_ns : INTERVAL_IDLE_NS;

	if (!longest && (!gpubpf_peers_count(s) || !(gpubpf_session_has_rings(s) || gpubpf_session_has_mirrors(s))))
		ns = 0;
	else if (records)
		ns = INTERVAL_BUSY_NS;
	else if (ns < INTERVAL_IDLE_NS)
		ns *= 2;
	if (longest && ns > longest)
		ns = longest;
	set_interval(s, ns > INTERVAL_IDLE_NS ? INTERVAL_IDLE_NS : ns);
}

/*
 * Answer queries whose mirrors have arrived, and request mirrors. Agents copy complete mirrors. So all mirrors are
 * requested only if a query or synchronized maps need them.
 */
static void serve_timer(struct gpubpf_session *s)
{
	bool all = false, anew = false;
	struct gpubpf_peer *peer;

	gpubpf_support_turn(s, true, &all);
	for (peer = gpubpf_peers_first(s); peer; peer = peer->next) {
		anew |= peer->query.open && !peer->query.holds_launches && !peer->query.mirrors_requested;
		if (peer->query.open)
			gpubpf_query_try_answer(s, peer);
		all |= peer->query.open && !peer->query.holds_launches;
	}
	for (peer = gpubpf_peers_first(s); peer && (all || gpubpf_session_has_rings(s)); peer = peer->next)
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
		drain_fd(s->server->wake);
		return gpubpf_twins_answer(s);
	case TAG_TIMER:
		drain_fd(s->server->timer);
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
	int n = epoll_wait(s->server->epoll, events, 32, timeout_ms);
	uint64_t records, longest;
	bool mirrors = false;
	int handled = 0;

	if (n < 0)
		return errno == EINTR ? 0 : gpubpf_session_fail(s, -errno, "epoll_wait: %s", strerror(errno));
	gpubpf_launch_times_add(s);
	for (int i = 0; i < n; i++)
		handled += serve_event(s, events[i].data.u64);
	longest = gpubpf_support_turn(s, false, &mirrors);
	records = gpubpf_reader_run(s, false);
	adapt_interval(s, records, longest);
	return handled + (int)records;
}

int gpubpf_session__enable(struct gpubpf_session *s, bool on)
{
	if (s->state != GPUBPF_SESSION_STARTED)
		return gpubpf_session_fail(s, -EINVAL, "the session is not running");
	gpubpf_kernel_table_enable(s, on);
	for (struct gpubpf_peer *peer = gpubpf_peers_first(s); peer; peer = peer->next) {
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
	while (gpubpf_peers_first(s))
		close_peer(s, gpubpf_peers_first(s));
	gpubpf_rescues_finish(s);
	if (s->server->listener >= 0) {
		unlink(s->server->path);
		gpubpf_pins_remove(s->server->path);
	}
	close_fd(&s->server->listener);
	close_fd(&s->server->timer);
	close_fd(&s->server->wake);
	close_fd(&s->server->epoll);
	close_fd(&s->server->spare);
	free(s->server->buffer);
	s->server->buffer = NULL;
}
