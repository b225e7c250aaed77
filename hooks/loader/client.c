/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the loader's connection to the session. A process has one connection, which is made when it is first needed and
 * made again after fork(2).
 */
#include "loader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/wire/checks.h"
#include "environ.h"

#define HIGH_FD 200                /* lowest number for the socket; applications may use or close lower numbers */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int connection = -1;
/* identity of the connection's socket, since the application may close it and reuse its number */
static struct stat identity;
static pid_t owner;

bool have_session(void)
{
	return loader_env_session();
}

static int connect_to(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock = strlen(path) < sizeof(addr.sun_path) ? socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0) : -1, high;

	if (sock < 0)
		return -1;
	strcpy(addr.sun_path, path);
	if (connect(sock, (struct sockaddr *)&addr, sizeof(addr)) < 0 || gpubpf_msg_check_peer(sock) < 0) {
		close(sock);
		return -1;
	}
	high = fcntl(sock, F_DUPFD_CLOEXEC, HIGH_FD);
	if (high < 0)
		return sock;
	close(sock);
	return high;
}

static bool owns_connection(void)
{
	struct stat st;

	return connection >= 0 && !fstat(connection, &st) && st.st_ino == identity.st_ino && st.st_dev == identity.st_dev;
}

static void disconnect(void)
{
	if (owns_connection())
		close(connection);
	connection = -1;
}

static bool ensure_connected(void)
{
	const char *path = loader_env_session();

	gpubpf_assert_held(&lock);
	if (owner == getpid() && owns_connection())
		return true;
	disconnect();
	owner = getpid();
	connection = path ? connect_to(path) : -1;
	if (connection >= 0 && fstat(connection, &identity) < 0) {
		close(connection);
		connection = -1;
	}
	return connection >= 0;
}

/* Call in the child of a fork: initialize the lock, because a thread of the parent may have held it. */
static void reset_lock(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void register_fork_handler(void)
{
	pthread_atfork(NULL, NULL, reset_lock);
}

/*
 * State to restore after a request. Signals are blocked during the request, since a signal handler may send a request
 * too. Cancellation is disabled, because libc's syscall() is not a cancellation point.
 */
struct request_guard {
	sigset_t signals;
	int cancel;
};

static void begin_request(struct request_guard *q)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	sigset_t all;

	sigfillset(&all);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &q->cancel);
	pthread_sigmask(SIG_SETMASK, &all, &q->signals);
	pthread_once(&once, register_fork_handler);
	pthread_mutex_lock(&lock);
}

static void end_request(const struct request_guard *q)
{
	pthread_mutex_unlock(&lock);
	pthread_sigmask(SIG_SETMASK, &q->signals, NULL);
	pthread_setcancelstate(q->cancel, NULL);
}

static int transact(uint32_t op, const struct gpubpf_writer *w, int fd, struct answer *a)
{
	struct gpubpf_writer whole = { 0 };
	int err;

	gpubpf_assert_held(&lock);
	gpubpf_put_u32(&whole, op);
	gpubpf_put_raw(&whole, w->data, w->size);
	whole.failed |= w->failed;
	err = gpubpf_payload_send(connection, 0, GPUBPF_MSG_BPF, 1, &whole, fd);
	gpubpf_writer_finish(&whole);
	if (err == -ENOMEM || err == -E2BIG)
		return err; /* the request was not sent */
	while (!err) {
		err = gpubpf_msg_recv(connection, 0, a->buffer, &a->packet);
		if (err || a->packet.type == GPUBPF_MSG_BPF_DONE)
			break;
		gpubpf_msg_close(&a->packet);
	}
	if (!err) {
		err = gpubpf_payload_open(&a->packet, &a->payload);
		gpubpf_msg_close(&a->packet);
	}
	if (err < 0)
		disconnect();
	/* the session has ended, so report that there is none */
	return err == -EPIPE || err == -ECONNRESET ? -EOPNOTSUPP : err;
}

static int send_request(uint32_t op, struct gpubpf_writer *w, int fd, struct answer *a)
{
	struct request_guard q;
	int err;

	*a = (struct answer){ .buffer = malloc(GPUBPF_MSG_BUF), .payload.fd = -1 };
	err = a->buffer ? -EOPNOTSUPP : -ENOMEM;
	begin_request(&q);
	if (a->buffer && ensure_connected())
		err = transact(op, w, fd, a);
	end_request(&q);
	gpubpf_writer_finish(w);
	return err ? err : (int)gpubpf_get_u32(&a->payload.r);
}

int ask(uint32_t op, struct gpubpf_writer *w, struct answer *a)
{
	return send_request(op, w, -1, a);
}

void answer_close(struct answer *a)
{
	gpubpf_payload_close(&a->payload);
	free(a->buffer);
}

int request_handle(uint32_t op, struct gpubpf_writer *w, int given)
{
	struct answer a;
	int err = send_request(op, w, given, &a), fd = a.payload.fd;

	if (!err) {
		a.payload.fd = -1;
		err = fd < 0 ? -EMFILE : fd;
	}
	answer_close(&a);
	return err;
}
