/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that the language takes no name or mappings from another process that has the id of one that ended. */
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/lang/host/host.h"
#include "tests/tap.h"

#define TRIES 1000 /* another program may take the id first */
#define TICK_NS 10000000

static pid_t wait_for_kill(pid_t child)
{
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

/* Returns the id of a new process. This test cannot continue without one. */
static pid_t start_process(void)
{
	pid_t child = wait_for_kill(fork());

	if (child <= 0)
		abort();
	return child;
}

/* Start a process with this id. Returns the id, or -1. */
static pid_t start_process_with_id(pid_t id)
{
	struct clone_args args = { .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&id, .set_tid_size = 1 };

	return wait_for_kill((pid_t)syscall(SYS_clone3, &args, sizeof(args)));
}

/* kill() sends the signal to other processes if the id is not positive. */
static void end_process(pid_t id)
{
	if (id <= 0)
		abort();
	kill(id, SIGKILL);
	waitpid(id, NULL, 0);
}

/* The start time of a process has a resolution of one tick. */
static void wait_ticks(void)
{
	const struct timespec ticks = { .tv_nsec = 3 * TICK_NS };

	nanosleep(&ticks, NULL);
}

/* End the process, and start another one with its id. Returns false if that is not permitted. */
static bool replace_process(pid_t *id, struct lang_host *h)
{
	for (int i = 0; i < TRIES; i++) {
		pid_t next;

		lang_note_process(h, (uint32_t)*id, 1);
		lang_process_mappings(h, (uint32_t)*id);
		wait_ticks();
		end_process(*id);
		next = start_process_with_id(*id);
		if (next > 0)
			return true;
		if (errno != EEXIST)
			return false;
		*id = start_process();
	}
	return false;
}

static bool has_name(const struct lang_host *h, pid_t id)
{
	return lang_process_name(h, (uint32_t)id)[0] != '\0';
}

/* Mappings that were read a short time ago are not read again. */
static bool loses_mappings(struct lang_host *h, pid_t id)
{
	for (int i = 0; i < TRIES; i++) {
		if (!lang_process_mappings(h, (uint32_t)id))
			return true;
		wait_ticks();
	}
	return false;
}

int main(void)
{
	struct lang_host h = { .out = stdout };
	pid_t id = start_process();

	lang_note_process(&h, (uint32_t)id, 1);
	ok(has_name(&h, id) && lang_process_mappings(&h, (uint32_t)id), "a process that runs has a name and mappings");
	end_process(id);
	wait_ticks();
	ok(has_name(&h, id) && lang_process_mappings(&h, (uint32_t)id), "and keeps them after its end");
	id = start_process();
	if (replace_process(&id, &h)) {
		ok(loses_mappings(&h, id), "if another process has the id, stacks have no names");
		ok(has_name(&h, id), "the process of the session keeps its name");
		lang_note_process(&h, (uint32_t)id, 2);
		ok(!has_name(&h, id), "if both joined the session, the id has no name");
		end_process(id);
	} else {
		skip("another process with the same id", "clone3: %s", strerror(errno));
	}
	for (uint32_t i = 0; i < h.nprocesses; i++)
		free(h.process[i].mappings);
	free(h.process);
	return done();
}
