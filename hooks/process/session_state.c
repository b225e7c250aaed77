/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records whether this process has joined a session, for code that must not call the client. That code learns here
 * whether the agent may start threads and make system calls. Interposed libc functions call the client through its
 * handlers.
 */
#include "session_state.h"

#include <unistd.h>

#include <stdatomic.h>
#include "process.h"

static struct {
	atomic_uint generation, joined; /* joined: the generation in which the process joined, plus 1 */
	pid_t owner;                    /* id of the process that joined */
	atomic_bool sealed, attached;
	atomic_int forbidden;
	_Atomic(const struct gpubpf_process_handlers *) handlers; /* NULL until a runtime has called the client */
} state;

uint32_t gpubpf_session_generation(void)
{
	return atomic_load_explicit(&state.generation, memory_order_relaxed);
}

bool gpubpf_session_joined(void)
{
	return atomic_load(&state.joined) == gpubpf_session_generation() + 1;
}

bool gpubpf_session_owned(void)
{
	return gpubpf_session_joined() && state.owner == getpid();
}

void gpubpf_session_set_joined(void)
{
	state.owner = getpid();
	atomic_store(&state.joined, gpubpf_session_generation() + 1);
}

void gpubpf_session_set_attached(bool attached)
{
	state.attached = attached;
}

bool gpubpf_session_attached(void)
{
	return state.attached;
}

bool gpubpf_session_present(void)
{
	return state.attached || gpubpf_env_session();
}

void gpubpf_session_begin_generation(void)
{
	atomic_fetch_add(&state.generation, 1);
}

bool gpubpf_session_sealed(void)
{
	return state.sealed;
}

bool gpubpf_session_set_sealed(void)
{
	return atomic_exchange(&state.sealed, true);
}

void gpubpf_session_set_forbidden(int nr)
{
	state.forbidden = nr;
}

int gpubpf_session_take_forbidden(void)
{
	return atomic_exchange(&state.forbidden, 0);
}

void gpubpf_process_set_handlers(const struct gpubpf_process_handlers *handlers)
{
	atomic_store(&state.handlers, handlers);
}

void gpubpf_process_forbid(int nr)
{
	const struct gpubpf_process_handlers *handlers = atomic_load(&state.handlers);

	if (handlers) {
		handlers->seal(nr);
		return;
	}
	gpubpf_session_set_forbidden(nr);
	gpubpf_session_set_sealed();
}

void gpubpf_process_prepare_exit(void)
{
	const struct gpubpf_process_handlers *handlers = atomic_load(&state.handlers);

	if (handlers)
		handlers->prepare_exit();
}
