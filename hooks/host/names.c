/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gets the session's ids of names. Kernels and functions of the runtime have ids of one kind, so maps print both alike.
 * An id is requested at the first call with that name.
 */
#include "private.h"

#include <errno.h>

#include "core/wire/msg.h"
#include "hooks/agent.h"

#define MAX_FUNCTIONS 512
#define WAIT_NS 2000000000ull /* minimum wait for an id; the tool answers at once */

static struct {
	_Atomic(const char *) name;
	atomic_uint_fast64_t id; /* 1 + id; 0: not requested yet */
} functions[MAX_FUNCTIONS];

struct query {
	const char *name;
	uint64_t id;
};

static int wait_for(struct gpubpf_request *request)
{
	uint64_t least = gpubpf_now_ns() + WAIT_NS, until = gpubpf_wait_budget_begin();
	int err = gpubpf_request_wait(request, until > least ? until : least);

	gpubpf_wait_budget_end();
	if (err == -ETIMEDOUT)
		gpubpf_wait_budget_suspend();
	return err;
}

static void request_id(void *arg)
{
	struct gpubpf_request *request = NULL;
	struct gpubpf_writer w = { 0 };
	struct query *q = arg;
	uint64_t id;
	int err;

	gpubpf_put_str(&w, q->name);
	err = gpubpf_client_request(GPUBPF_MSG_NAME, &w, NULL, 0, &request);
	gpubpf_writer_finish(&w);
	if (!err && !wait_for(request) && gpubpf_request_answer(request)->type == GPUBPF_MSG_NAME_DONE) {
		id = gpubpf_get_u64(&gpubpf_request_answer(request)->payload);
		q->id = gpubpf_request_answer(request)->payload.failed ? UINT64_MAX : id;
	}
	gpubpf_request_drop(request);
}

/* Returns UINT64_MAX if the calling thread may not wait, or the session does not answer. */
static uint64_t query_id(const char *name)
{
	struct query q = { name, UINT64_MAX };

	if (!gpubpf_hook_callbacks && !gpubpf_wait_budget_is_suspended())
		gpubpf_run_on_agent_thread(request_id, &q);
	return q.id;
}

uint64_t gpubpf_host_function_id(const char *function)
{
	uint32_t i = ((uintptr_t)function >> 2) % MAX_FUNCTIONS;
	uint64_t id;

	for (uint32_t n = 0; n < MAX_FUNCTIONS; n++, i = (i + 1) % MAX_FUNCTIONS) {
		const char *none = NULL;

		if (atomic_load(&functions[i].name) != function &&
		    !atomic_compare_exchange_strong(&functions[i].name, &none, function) && none != function)
			continue;
		id = atomic_load_explicit(&functions[i].id, memory_order_relaxed);
		if (id)
			return id - 1;
		id = query_id(function);
		if (id != UINT64_MAX)
			atomic_store(&functions[i].id, id + 1);
		return id;
	}
	return UINT64_MAX;
}

uint64_t gpubpf_host_kernel_id(const struct gpubpf_hook_launch *launch)
{
	struct gpubpf_kernel_entry *entry = launch->dispatch ? launch->dispatch->entry : NULL;
	uint64_t id = entry ? atomic_load_explicit(&entry->id, memory_order_relaxed) : 0;

	if (id || !entry)
		return id - 1;
	id = query_id(launch->kernel->full_name);
	if (id != UINT64_MAX)
		atomic_store(&entry->id, id + 1);
	return id;
}

void gpubpf_host_names_forget(void)
{
	for (uint32_t i = 0; i < MAX_FUNCTIONS; i++)
		atomic_store(&functions[i].id, 0);
}
