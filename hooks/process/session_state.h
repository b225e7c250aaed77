/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_state.c: records whether this process has joined a session, and whether the agent may make system calls. The
 * client (hooks/client) sets this state; process.h has the functions that read it.
 */
#ifndef GPUBPF_HOOKS_SESSION_STATE_H
#define GPUBPF_HOOKS_SESSION_STATE_H

#include <stdbool.h>

void gpubpf_session_set_joined(void); /* call after this process has joined a session */
/* attached: true if a tool attaches to this running process, false if it has detached. */
void gpubpf_session_set_attached(bool attached);
void gpubpf_session_begin_generation(void); /* call in the child of a fork, which has not joined yet */
/*
 * Record that the agent may make no more system calls, in this process and in its later children. Returns true if that
 * was already recorded.
 */
bool gpubpf_session_set_sealed(void);
/*
 * Store the number of the system call that a filter forbids. The next gpubpf_session_take_forbidden() returns it for
 * the report; later calls return 0.
 */
void gpubpf_session_set_forbidden(int nr);
int gpubpf_session_take_forbidden(void);

/* Functions of the client that interposed libc functions call, in any thread. */
struct gpubpf_process_handlers {
	/* The application installs a filter that forbids system call `nr`: end the session and make no more calls. */
	void (*seal)(int nr);
	/*
	 * The process is about to exit by _exit(). The reader thread does the work of the exit handlers, and the caller
	 * waits for it up to a time limit. Takes no lock and allocates no memory.
	 */
	void (*prepare_exit)(void);
};

/* The client registers its handlers before it joins the session. */
void gpubpf_process_set_handlers(const struct gpubpf_process_handlers *handlers);
void gpubpf_process_forbid(int nr);     /* calls seal(); without a client, only records the state */
void gpubpf_process_prepare_exit(void); /* calls prepare_exit(); without a client, does nothing */

#endif
