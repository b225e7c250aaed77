/* SPDX-License-Identifier: Apache-2.0 */
/* The next tool that attaches finds no state of the last session in the client. */
#include "hooks/client/session.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hooks/process/agent_thread.h"
#include "hooks/process/session_state.h"
#include "tests/tap.h"

struct gpubpf_client_state gpubpf_client = { .sock = -1, .lock = PTHREAD_MUTEX_INITIALIZER };
static unsigned int notes;
static bool is_own;

/* The rest of the client. The session is up. Its socket is not the agent's any more, unless is_own is set. */
bool gpubpf_session_up(void)
{
	return true;
}

bool gpubpf_session_sealed(void)
{
	return false;
}

bool gpubpf_socket_is_own(void)
{
	return is_own;
}

int gpubpf_client_notify(enum gpubpf_msg type, const struct gpubpf_writer *payload)
{
	notes += type == GPUBPF_MSG_NOTE;
	return 0;
}

void gpubpf_run_on_agent_thread(void (*work)(void *arg), void *arg)
{
	work(arg);
}

int gpubpf_client_send_hello(int fd, const char *backend)
{
	return -ENOTSUP;
}

int gpubpf_client_receive_welcome(int fd)
{
	return -ENOTSUP;
}

int gpubpf_socket_wait(int fd, short events, uint64_t until)
{
	return -ENOTSUP;
}

int gpubpf_client_start_reader(void)
{
	return -ENOTSUP;
}

int gpubpf_move_fd_up(int fd)
{
	return fd;
}

void gpubpf_client_prepare(const struct gpubpf_client_handlers *handlers)
{
}

void gpubpf_client_end_session(const char *why)
{
}

void gpubpf_kernel_table_release(void)
{
}

uint32_t gpubpf_session_wait_ms(void)
{
	return 1;
}

void gpubpf_session_begin_generation(void)
{
}

void gpubpf_session_set_attached(bool attached)
{
}

static void test_ending(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		abort();
	gpubpf_client.sock = ends[0];
	is_own = true;
	ok(!gpubpf_session_is_ending(), "the session of a tool that lives does not end");
	pthread_mutex_lock(&gpubpf_client.lock);
	ok(gpubpf_session_is_ending(), "a session that a thread of the agent changes may end");
	pthread_mutex_unlock(&gpubpf_client.lock);
	close(ends[1]);
	ok(gpubpf_session_is_ending(), "the session of a tool that died ends");
	is_own = false;
	close(ends[0]);
}

int main(void)
{
	gpubpf_client.pending_twins = 3;
	gpubpf_wait_budget_begin();
	while (gpubpf_wait_budget_is_left())
		;
	gpubpf_wait_budget_end();
	gpubpf_wait_budget_suspend();
	gpubpf_log_once("a message");
	gpubpf_log_once("a message");
	ok(notes == 1, "a session shows a message once");
	gpubpf_session_release(0, false);
	ok(!gpubpf_client.pending_twins, "requests that the last tool did not answer are not counted in the next session");
	ok(gpubpf_wait_budget_is_left(), "launches may wait for the next tool as long as for the last one");
	gpubpf_log_once("a message");
	ok(notes == 2, "the next session shows the message again");
	test_ending();
	return done();
}
