/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves the session. When the process exits, the tool reads the ring buffers and the agent copies back arenas outside
 * host memory. If the application installs a seccomp filter that forbids the agent's system calls, the session is
 * sealed: the agent makes no more calls.
 */
#include "session.h"

#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/wire/checks.h"
#include "hooks/process/session_state.h"

#define LEAVE_NS 3000000000ull
#define READ_NS 1000000000ull /* how long an exiting process waits for the tool to read the ring buffers */

static const struct timespec nap = { .tv_nsec = 100000 };

static void stop_reader(uint64_t deadline)
{
	int staying = STAYING;

	if (gpubpf_client.reader != getpid() || !gpubpf_socket_is_own())
		return;
	if (atomic_compare_exchange_strong(&gpubpf_client.end, &staying, LEAVING))
		shutdown(gpubpf_client.sock, SHUT_RD); /* wakes the reader thread */
	while (gpubpf_client.end == LEAVING && gpubpf_session_up() && gpubpf_now_ns() < deadline)
		nanosleep(&nap, NULL);
}

/* Send the request that the tool reads the ring buffers. The caller holds the client's lock. */
static bool send_read(struct gpubpf_request *r)
{
	const struct gpubpf_writer nothing = { 0 };

	gpubpf_assert_held(&gpubpf_client.lock);
	if (!gpubpf_session_up() || !gpubpf_socket_is_own())
		return false;
	r->seq = ++gpubpf_client.seq;
	r->next = gpubpf_client.waiting;
	gpubpf_client.waiting = r;
	if (!gpubpf_msg_send(gpubpf_client.sock, MSG_DONTWAIT, GPUBPF_MSG_READ, r->seq, &nothing, NULL, 0))
		return true;
	gpubpf_client.waiting = r->next;
	return false;
}

void gpubpf_session_flush_rings(void)
{
	static struct gpubpf_request last = { .packet.fds = { -1, -1, -1, -1 } };
	static atomic_bool asked;
	uint64_t deadline = gpubpf_now_ns() + READ_NS;
	bool sent;

	if (gpubpf_client.reader != getpid() || !(gpubpf_client.welcome.flags & GPUBPF_WELCOME_READS) ||
	    gpubpf_session_sealed() || gpubpf_wait_budget_is_suspended() || atomic_exchange(&asked, true) ||
	    pthread_mutex_trylock(&gpubpf_client.lock))
		return;
	sent = send_read(&last);
	pthread_mutex_unlock(&gpubpf_client.lock);
	while (sent && !atomic_load(&last.outcome) && gpubpf_now_ns() < deadline)
		nanosleep(&nap, NULL);
}

static void prepare_exit(void)
{
	if (gpubpf_client.handlers->has_copied_arena())
		stop_reader(gpubpf_now_ns() + LEAVE_NS);
	else
		gpubpf_session_flush_rings();
}

static void seal(int nr)
{
	uint64_t deadline = gpubpf_now_ns() + LEAVE_NS;

	if (gpubpf_session_up())
		gpubpf_log_once("the application's seccomp filter forbids system call %d, which probing needs; kernels "
				"run unprobed from now on",
				nr);
	else
		gpubpf_session_set_forbidden(nr);
	if (gpubpf_session_set_sealed())
		return;
	stop_reader(deadline);
	pthread_mutex_lock(&gpubpf_client.lock);
	gpubpf_client_end_session(NULL);
	pthread_mutex_unlock(&gpubpf_client.lock);
	/*
	 * The filter may apply to all threads. Wait until the reader thread has ended, so that it makes no system call
	 * after the filter is installed.
	 */
	while (gpubpf_client.reader == getpid() && !tgkill(gpubpf_client.reader, gpubpf_client.reader_tid, 0) &&
	       gpubpf_now_ns() < deadline)
		nanosleep(&nap, NULL);
}

const struct gpubpf_process_handlers gpubpf_client_process_handlers = { .seal = seal, .prepare_exit = prepare_exit };
