/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers host calls: a thread runs the functions that the loader registers for HOST_CALL maps. The thread begins with
 * the first registration, and ends when the session stops. It uses no data of the session except the mailboxes.
 */
#ifndef GPUBPF_SESSION_HOST_CALLS_H
#define GPUBPF_SESSION_HOST_CALLS_H

#include <stdint.h>

struct gpubpf_session;

/*
 * Call it after an arena was opened or extended, and after a process has joined or left. Serves new mailboxes. The thread
 * sleeps while there are no processes. If memory is short, notes it.
 */
void gpubpf_host_calls_update(struct gpubpf_session *s);
/* End the thread. Later calls of programs return -ENOSYS. */
void gpubpf_host_calls_stop(struct gpubpf_session *s);

#endif
