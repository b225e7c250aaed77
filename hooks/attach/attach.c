/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of an attached session:
 *
 * IDLE: no tool is attached.
 * ATTACHING: the tool takes its end of the connection.
 * ATTACHED: the agent joins the session and hooks the runtimes.
 * DETACHING: the agent undoes its hooks and releases its records. The next phase is IDLE.
 *
 * The client's reader thread detaches when the tool closes the connection. If the tool sends DETACH instead, a new
 * thread detaches, and then closes the connection.
 */
#include "attach.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "hooks/agent.h"
#include "hooks/client/client.h"
#include "hooks/cuda/attach.h"
#include "hooks/launch/attacher.h"
#include "hooks/launch/launch.h"
#include "hooks/opencl/attach/attach.h"
#include "hooks/process/agent_thread.h"
#include "hooks/process/process.h"

#define ATTACH_MS 20      /* interval in ms at which an attached session looks for new runtimes */
#define WAIT_JOBS_NS 60000000000ull /* time limit in ns for the agent's threads that build twins to end */
#define SETTLE_MS 1500    /* longest wait for the end of an earlier session; the tool waits 2 s for the agent */
#define TAKE_ROUNDS 20000 /* number of waits of 0.1 ms until the tool has taken the socket */

static const struct gpubpf_attacher *const attachers[] = { &ocl_attacher, &cuda_attacher };
#define NATTACHERS (sizeof(attachers) / sizeof(attachers[0]))

/* `state` is the session's number times PHASES, plus the phase. Sessions are numbered from 1. */
enum { IDLE, ATTACHING, ATTACHED, DETACHING, STUCK, PHASES };

static atomic_uint_fast64_t state;
static atomic_bool is_watching; /* the thread of run_session() runs */

static void nap_ms(long ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* Change the phase of session `serial`. Returns false if the phase is not `from`, or the session is another. */
static bool set_phase(uint64_t serial, int from, int to)
{
	uint64_t have = serial * PHASES + from;

	return atomic_compare_exchange_strong(&state, &have, serial * PHASES + to);
}

/*
 * Undo the hooks of session `serial`, and release its state. If two threads detach the same session, one does the work,
 * and the other waits until it is done.
 */
static void detach(uint64_t serial)
{
	bool is_stuck = false;
	uint32_t left = 0;

	if (set_phase(serial, ATTACHED, DETACHING)) {
		while (is_watching)
			nap_ms(1);
		for (size_t i = 0; i < NATTACHERS; i++) {
			int n = attachers[i]->detach();

			is_stuck |= n < 0;
			left += n < 0 ? 0 : n;
		}
		is_stuck |= !gpubpf_agent_jobs_wait(WAIT_JOBS_NS);
		if (!is_stuck)
			gpubpf_host_release();
		for (size_t i = 0; i < NATTACHERS && !is_stuck; i++)
			if (attachers[i]->forget)
				attachers[i]->forget();
		gpubpf_session_release(left, is_stuck);
		set_phase(serial, DETACHING, is_stuck ? STUCK : IDLE);
	}
	while (state == serial * PHASES + DETACHING)
		nap_ms(1);
}

static void after_fork(void)
{
	state = (state / PHASES) * PHASES + IDLE;
	is_watching = false;
	for (size_t i = 0; i < NATTACHERS; i++)
		attachers[i]->after_fork();
}

struct start {
	uint64_t serial;
	int sock;
};

/* Join the session. Until it ends, hook the runtimes that are loaded, and regularly look for new ones. */
static void *run_session(void *arg)
{
	struct start start = *(struct start *)arg;
	struct gpubpf_session_attachment a = { start.sock, start.serial, detach, after_fork };

	free(arg);
	is_watching = true;
	set_phase(start.serial, ATTACHING, ATTACHED);
	if (gpubpf_session_attach(&a, gpubpf_hook_handlers()) < 0) {
		is_watching = false;
		detach(start.serial);
		return NULL;
	}
	while (state == start.serial * PHASES + ATTACHED) {
		for (size_t i = 0; i < NATTACHERS; i++)
			attachers[i]->attach();
		nap_ms(ATTACH_MS);
	}
	is_watching = false;
	return NULL;
}

/*
 * Create a pair of connected sockets, and wait until the tool has duplicated one. Returns the other socket, or a
 * negative errno value.
 */
static int connect_tool(struct gpubpf_boot_data *data)
{
	const struct timespec nap = { 0, 100000 };
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return -errno;
	__atomic_store_n(&data->socket, ends[1], __ATOMIC_RELEASE);
	for (int i = 0; i < TAKE_ROUNDS && !__atomic_load_n(&data->taken, __ATOMIC_ACQUIRE); i++)
		nanosleep(&nap, NULL);
	close(ends[1]);
	if (__atomic_load_n(&data->taken, __ATOMIC_ACQUIRE))
		return ends[0];
	close(ends[0]);
	return -ETIMEDOUT;
}

static int start_session(int sock, uint64_t serial)
{
	struct start *start = malloc(sizeof(*start));
	int err = -ENOMEM;

	if (start) {
		*start = (struct start){ serial, sock };
		err = gpubpf_thread_start(run_session, start);
	}
	if (err < 0) {
		free(start);
		close(sock);
	}
	return err;
}

/* Store the reason for the tool. Returns err. */
static int64_t refuse(struct gpubpf_boot_data *data, int err, const char *why)
{
	snprintf(data->error, sizeof(data->error), "%s", why);
	return err;
}

static int64_t attach(struct gpubpf_boot_data *data, uint64_t serial)
{
	int sock;

	if (gpubpf_lockdown_find_call() >= 0)
		return refuse(data, -EPERM, "a seccomp filter forbids system calls that probing needs");
	sock = connect_tool(data);
	if (sock < 0)
		return refuse(data, sock,
			      "the agent could not create its connection, or the tool did not take the connection");
	if (start_session(sock, serial) < 0)
		return refuse(data, -EAGAIN, "the agent could not start a thread");
	return 0;
}

/*
 * Does the phase change soon? A tool may have died while it attached, or after that. Then the process ends the session,
 * which can take a moment on a busy machine.
 */
static bool is_changing(uint64_t now)
{
	switch (now % PHASES) {
	case ATTACHING:
	case DETACHING:
		return true;
	case ATTACHED:
		return gpubpf_session_is_ending();
	}
	return false;
}

/* Wait for a limited time until the phase changes no more. Returns the state. */
static uint64_t wait_settled(void)
{
	uint64_t now = state;

	for (int i = 0; i < SETTLE_MS && is_changing(now); i++) {
		nap_ms(1);
		now = state;
	}
	return now;
}

__attribute__((visibility("default"))) int64_t gpubpf_agent_attach(struct gpubpf_boot_data *data)
{
	uint64_t before, serial;
	int64_t err;

	if (data->version != GPUBPF_BOOT_VERSION)
		return refuse(data, -EPROTO,
			      "the process has the agent of another gpubpf version; restart it, or use that version");
	if (gpubpf_env_session())
		return refuse(data, -EBUSY, "gpubpf run started it; use gpubpf session attach");
	before = wait_settled();
	serial = before / PHASES;
	if (before % PHASES == STUCK)
		return refuse(data, -EBUSY, "a call or a kernel of an earlier session has not ended; restart the process");
	if (is_changing(before))
		return refuse(data, -EBUSY,
			      "another session of it begins or ends at this moment; try again in a few seconds");
	if (gpubpf_session_up() || before % PHASES != IDLE ||
	    !atomic_compare_exchange_strong(&state, &(uint64_t){ serial * PHASES + IDLE },
					    (serial + 1) * PHASES + ATTACHING))
		return refuse(data, -EBUSY,
			      "another gpubpf session probes it; end that session, or use gpubpf session attach");
	serial++;
	err = attach(data, serial);
	if (err < 0)
		set_phase(serial, ATTACHING, IDLE);
	return err;
}
