/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of sections host/ (core/model/host_events.def). They run on the CPU, in the application's thread, before and
 * after calls of the GPU runtime. The launch path reports launches, and adapters report other calls. Without such
 * programs a call costs a few loads.
 */
#ifndef GPUBPF_HOOKS_HOST_H
#define GPUBPF_HOOKS_HOST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpubpf/ctx.h"

struct gpubpf_hook_launch;

/* A call of the application. The caller sets the members that it knows, and zeroes the others. */
struct gpubpf_host_call {
	enum gpubpf_host_event event;
	enum gpubpf_copy_direction direction;
	const char *function; /* name of the called function, a constant string */
	/* as in struct gpubpf_ctx; an adapter may set `bytes` and `pointer` after the call */
	uint64_t bytes, pointer, source, stream;
	uint64_t device_ns; /* set after the call; valid if has_device_ns */
	bool has_device_ns;
	const struct gpubpf_hook_launch *launch; /* LAUNCH: the launch path's description; else NULL */
	/* private */
	uint64_t number, start_ns;
};

extern atomic_uint gpubpf_host_events; /* bit: enum gpubpf_host_event with programs before or after its calls */
extern atomic_uint_fast64_t gpubpf_host_generation; /* generation of the programs that the agent has */

uint64_t gpubpf_host_generation_now(void); /* generation of the session's programs; 0: there never was one */
bool gpubpf_host_run_begin(struct gpubpf_host_call *call);

/* Returns true if programs may run at calls of this kind. */
static inline bool gpubpf_host_is_on(enum gpubpf_host_event event)
{
	return atomic_load_explicit(&gpubpf_host_events, memory_order_relaxed) >> event & 1 ||
	       gpubpf_host_generation_now() != atomic_load_explicit(&gpubpf_host_generation, memory_order_relaxed);
}

/*
 * Run the programs before a call. Returns true if the caller must call gpubpf_host_end() after the call, with the
 * runtime's result. Both preserve errno.
 */
static inline bool gpubpf_host_begin(struct gpubpf_host_call *call)
{
	return gpubpf_host_is_on(call->event) && gpubpf_host_run_begin(call);
}
void gpubpf_host_end(struct gpubpf_host_call *call, int64_t result);

/*
 * Evaluates to the value of `call`, of type `type`. Programs run before and after it. `code` is the runtime's result
 * code, in which `result` names the value. `then` is a statement that sets members of `host_call` between the call and
 * the programs after it. The other arguments initialize struct gpubpf_host_call.
 */
#define GPUBPF_HOST_CALL_THEN(type, call, code, then, ...) ({ \
	struct gpubpf_host_call host_call = { __VA_ARGS__ }; \
	bool is_on = gpubpf_host_begin(&host_call); \
	type result = (call); \
	if (is_on) { \
		then; \
		gpubpf_host_end(&host_call, (code)); \
	} \
	result; \
})

#define GPUBPF_HOST_CALL(type, call, code, ...) GPUBPF_HOST_CALL_THEN(type, call, code, (void)0, __VA_ARGS__)

/* The same for a call that returns the address or handle of memory. Programs after the call get it as `pointer`. */
#define GPUBPF_HOST_ALLOC(type, call, code, ...) \
	GPUBPF_HOST_CALL_THEN(type, call, code, host_call.pointer = (uintptr_t)result, __VA_ARGS__)

/* At the end of an attached session, when no call runs: release the programs. */
void gpubpf_host_release(void);
void gpubpf_host_after_fork(void);

#endif
