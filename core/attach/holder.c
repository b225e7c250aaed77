/* SPDX-License-Identifier: Apache-2.0 */
/* The child process of the tool that stops threads (remote.h). */
#include "remote.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOLDER_NS 5000000000ull /* time in ns that the holder may need in addition, on a busy machine */
#define POLL_US 50

/* Shared by the tool and the holder. */
struct holding {
	atomic_bool is_done;
	int result;
	uint64_t stopped;
	char why[1024];
};

static _Noreturn void hold(struct holding *h, struct remote *r, remote_holder_fn fn, void *arg)
{
	sigset_t all;

	setsid();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	h->result = fn(r, arg, &h->stopped);
	snprintf(h->why, sizeof(h->why), "%s", r->why);
	atomic_store(&h->is_done, true);
	_exit(0);
}

/* The application of a library may ignore SIGCHLD. Then the holder leaves no status, and waitpid() fails. */
static bool has_ended(pid_t holder)
{
	pid_t got = waitpid(holder, NULL, __WALL | WNOHANG);

	return got == holder || (got < 0 && errno != EINTR);
}

static void wait_holder(pid_t holder, uint64_t deadline)
{
	while (!has_ended(holder)) {
		if (remote_now_ns() > deadline) {
			kill(holder, SIGKILL);
			deadline = UINT64_MAX;
		}
		remote_sleep_us(POLL_US);
	}
}

int remote_run_holder(struct remote *r, remote_holder_fn fn, void *arg, uint64_t ns, uint64_t *stopped)
{
	struct holding *h = mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t deadline = remote_now_ns() + ns + HOLDER_NS;
	pid_t holder = h == MAP_FAILED ? -1 : fork();
	int result = -EAGAIN;

	if (!holder)
		hold(h, r, fn, arg);
	if (holder > 0) {
		wait_holder(holder, deadline);
		if (atomic_load(&h->is_done))
			result = h->result;
		*stopped = h->stopped;
		if (result < 0 && h->why[0])
			remote_fail(r, result, "%.*s", (int)sizeof(h->why) - 1, h->why);
	}
	if (result == -EAGAIN && !(holder > 0 && atomic_load(&h->is_done)))
		remote_fail(r, result,
			    "process %d: the tool's process that stops threads could not start or finish (%s); try again",
			    r->pid, holder < 0 ? strerror(errno) : "it was killed, or the machine is busy");
	if (h != MAP_FAILED)
		munmap(h, sizeof(*h));
	return result;
}
