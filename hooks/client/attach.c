/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins the session of a tool that attaches to this process. Unlike after a session from the environment, the process
 * can join another session later, because gpubpf_session_release() removes all state of the session.
 */
#include "session.h"

#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "hooks/process/session_state.h"

#define WELCOME_NS 30000000000ull

/* Wait without the lock, which the application needs to fork. On a busy machine, the tool can answer late. */
static int wait_for_welcome(int fd)
{
	int err = gpubpf_client_send_hello(fd, "");

	return err ? err : gpubpf_socket_wait(fd, POLLIN, gpubpf_now_ns() + WELCOME_NS);
}

/* Store what a fork needs. The child closes the socket. */
static void begin(const struct gpubpf_session_attachment *a, int fd)
{
	pthread_mutex_lock(&gpubpf_client.lock);
	gpubpf_client.backend = "";
	gpubpf_client.serial = a->serial;
	gpubpf_client.detach = a->detach;
	gpubpf_client.after_fork = a->after_fork;
	gpubpf_client.joining = fd + 1;
	gpubpf_session_set_attached(true);
	pthread_mutex_unlock(&gpubpf_client.lock);
}

int gpubpf_session_attach(const struct gpubpf_session_attachment *a, const struct gpubpf_client_handlers *handlers)
{
	int fd = gpubpf_move_fd_up(a->sock), err;

	gpubpf_client_prepare(handlers);
	begin(a, fd);
	err = wait_for_welcome(fd);
	pthread_mutex_lock(&gpubpf_client.lock);
	gpubpf_client.joining = 0;
	if (err < 0)
		close(fd);
	else
		err = gpubpf_client_receive_welcome(fd);
	if (!err)
		err = gpubpf_client_start_reader();
	pthread_mutex_unlock(&gpubpf_client.lock);
	return err;
}

bool gpubpf_session_is_ending(void)
{
	struct pollfd p = { .fd = -1 };
	bool is_ending = true;

	if (pthread_mutex_trylock(&gpubpf_client.lock))
		return true;
	if (gpubpf_session_up() && gpubpf_socket_is_own()) {
		p.fd = gpubpf_client.sock;
		is_ending = poll(&p, 1, 0) > 0 && p.revents & POLLHUP;
	}
	pthread_mutex_unlock(&gpubpf_client.lock);
	return is_ending;
}

/* Send DETACHED to the tool, close the connection, and wait until the reader thread uses it no more. */
static void leave(uint32_t left_hooks)
{
	const struct timespec nap = { 0, 100000 };
	struct gpubpf_writer w = { 0 };

	gpubpf_put_u32(&w, left_hooks);
	gpubpf_client_notify(GPUBPF_MSG_DETACHED, &w);
	gpubpf_writer_finish(&w);
	pthread_mutex_lock(&gpubpf_client.lock);
	if (gpubpf_session_up() && gpubpf_socket_is_own())
		shutdown(gpubpf_client.sock, SHUT_RDWR);
	while (gpubpf_client.reading) {
		pthread_mutex_unlock(&gpubpf_client.lock);
		nanosleep(&nap, NULL);
		pthread_mutex_lock(&gpubpf_client.lock);
	}
	gpubpf_client_end_session(NULL);
	gpubpf_client.serial = 0;
	gpubpf_client.reader = 0;
	gpubpf_client.pending_twins = 0; /* the tool answers no more */
	pthread_mutex_unlock(&gpubpf_client.lock);
}

void gpubpf_session_release(uint32_t left_hooks, bool keep)
{
	struct gpubpf_kernel_table *table = gpubpf_client.table;

	leave(left_hooks);
	if (keep)
		return;
	gpubpf_kernel_table_release();
	gpubpf_client.table = NULL;
	if (table)
		munmap(table, sizeof(*table));
	gpubpf_wait_budget_renew();
	gpubpf_log_forget();
	gpubpf_session_begin_generation(); /* invalidates caches of the launch path */
	gpubpf_session_set_attached(false);
}
