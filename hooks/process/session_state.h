/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_state.c: has this process joined a session, and may the agent make calls? The client (hooks/client) sets this
 * state; process.h has the functions that read it.
 */
#ifndef GPUBPF_HOOKS_SESSION_STATE_H
#define GPUBPF_HOOKS_SESSION_STATE_H

#include <stdbool.h>

void gpubpf_session_set_joined(void);       /* this process joined */
void gpubpf_session_begin_generation(void); /* in the child of a fork, which has not joined yet */
/* The agent may make no further calls, in this process and in its later children. Returns whether that was set
 * before. */
bool gpubpf_session_set_sealed(void);
/* Store the number of the system call that a filter forbids. gpubpf_session_take_forbidden() returns it once for the
 * report, then 0. */
void gpubpf_session_set_forbidden(int nr);
int gpubpf_session_take_forbidden(void);

/* Functions of the client that interposed functions of libc call, in any thread. */
struct gpubpf_process_handlers {
	/* The program installs a filter that forbids system call `nr`: end the session and make no further calls. */
	void (*seal)(int nr);
	/* The process is about to exit by _exit(): the reader thread does the work of the exit handlers, and the caller
	 * waits for it up to a limit. Takes no lock and allocates no memory. */
	void (*prepare_exit)(void);
};

/* The client registers its handlers before it joins. */
void gpubpf_process_set_handlers(const struct gpubpf_process_handlers *handlers);
void gpubpf_process_forbid(int nr);     /* calls seal(); without a client, only the state changes */
void gpubpf_process_prepare_exit(void); /* calls prepare_exit(); without a client, does nothing */

#endif
