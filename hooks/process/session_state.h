/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_state.c: the part that this process has in a session. The client sets it (hooks/client); process.h has the
 * functions that read it.
 */
#ifndef GPUBPF_HOOKS_SESSION_STATE_H
#define GPUBPF_HOOKS_SESSION_STATE_H

#include <stdbool.h>

void gpubpf_session_set_joined(void);          /* this process joined */
void gpubpf_session_begin_generation(void);    /* this is the child of a fork: it has not joined yet */
/* The agent may make no further calls. Permanent, also in children. Returns whether it was set before. */
bool gpubpf_session_set_sealed(void);
/* The system call that sealed the session, until gpubpf_session_take_forbidden() returns it for the report; 0: none. */
void gpubpf_session_set_forbidden(int nr);
int gpubpf_session_take_forbidden(void);

/* The client's part when the process calls an interposed function of libc. Both may run in any thread. */
struct gpubpf_process_handlers {
	/* The program installs a filter that forbids system call `nr`: end the session and make no further calls. */
	void (*seal)(int nr);
	/* The process is about to exit without running its exit handlers: the reader thread does their work, and the
	 * caller waits for it up to a limit. Takes no lock and allocates no memory. */
	void (*prepare_exit)(void);
};

/* The client passes its handlers before it joins. Interposed functions have no parameter through which they could come. */
void gpubpf_process_set_handlers(const struct gpubpf_process_handlers *handlers);
void gpubpf_process_forbid(int nr);            /* calls seal(); without a client, only the state changes */
void gpubpf_process_prepare_exit(void);        /* calls prepare_exit(); without a client, does nothing */

#endif
