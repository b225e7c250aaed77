/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: brings a dispatch entry up to the current plan. It sends the program's image once per device, set of matching
 * links and register limit, with the names of the matching kernels. The session answers with an image to load and its
 * kernels.
 * Before: the entry has the binding of an older plan, or no binding.
 * After: the entry has the plan's binding: a twin, a refusal with its reason, or nothing attached. It stays at the
 * older plan when the wait budget is used up, or when no twin is ready and the caller may not wait.
 * Requires: the lock order of agent.h. Agent threads (async_twins.c) take the same steps without using the budget.
 *
 * A plan that restores an earlier set of programs reuses its twins.
 */
#include "twin.h"

#include <errno.h>
#include <stdlib.h>

#include "core/wire/checks.h"

/* Was the kernel launched only by API calls for which gpubpf cannot use a twin? The row keeps that refusal until a twin
 * runs. */
static bool is_refused_by_call(const struct gpubpf_kernel_row *k)
{
	return __atomic_load_n(&k->state, __ATOMIC_RELAXED) == GPUBPF_KERNEL_REFUSED &&
	       __atomic_load_n(&k->missed[GPUBPF_MISS_UNSUPPORTED], __ATOMIC_RELAXED);
}

/* Request the module's twins and load the answer, as far as the caller may wait. The caller holds the program's
 * lock. */
static void refresh_module_once(struct gpubpf_dispatch_entry *choice, struct gpubpf_twin_module *set)
{
	const char *kernel = choice->kernel->whole;

	gpubpf_assert_held(&set->program->lock);
	if (set->state < SET_LOADED && !gpubpf_entry_has_twin(choice) && !is_refused_by_call(choice->entry->shared))
		gpubpf_kernel_table_set_state(choice->entry, GPUBPF_KERNEL_WAITING, NULL);
	if (set->state == SET_NEW)
		gpubpf_twin_run_step(set, SET_REQUESTED, kernel);
	gpubpf_twin_wait_while_busy(set);
	if (set->state == SET_REQUESTED)
		gpubpf_twin_wait_for_answer(set, kernel);
	gpubpf_twin_wait_while_busy(set);
}

/* Repeats with another form of the twin (PTX, machine code) each time the runtime fails to load one. */
static void refresh_module(struct gpubpf_dispatch_entry *choice, struct gpubpf_twin_module *set)
{
	uint32_t known;

	do {
		known = set->unloadable;
		refresh_module_once(choice, set);
	} while (set->state < SET_LOADED && set->unloadable != known);
}

/* Names of all kernels of the program, queried once. NULL: the adapter does not report them, so the program counts as
 * one kernel. */
static const char *kernels_of(struct gpubpf_hook_program *program)
{
	char *names = atomic_load_explicit(&program->kernels, memory_order_acquire), *none = NULL;

	if (names || gpubpf_is_agent_thread() || !program->ops->kernels || !(names = program->ops->kernels(program->adapter)))
		return names;
	if (atomic_compare_exchange_strong(&program->kernels, &none, names))
		return names;
	free(names);
	return none;
}

/* Find or create the twin module for the links that match kernels of the program. With may_wait it is also requested
 * and loaded, as far as time allows. NULL: out of memory, or too many modules. */
static struct gpubpf_twin_module *find_set(struct gpubpf_dispatch_entry *choice, const struct gpubpf_plan *plan,
					uint32_t registers, bool may_wait)
{
	struct gpubpf_hook_program *program = choice->kernel->program;
	const char *kernels = kernels_of(program);
	struct gpubpf_twin_module *set;
	struct gpubpf_plan_subset part;

	if (gpubpf_twin_select_links(plan, kernels ? kernels : choice->kernel->whole, &part) < 0)
		return NULL;
	pthread_mutex_lock(&program->lock);
	set = gpubpf_twin_module_get_or_create(program, choice->device, registers, part.links, part.nlinks, part.wanted);
	if (set && may_wait)
		refresh_module(choice, set);
	pthread_mutex_unlock(&program->lock);
	if (!set) {
		free(part.links);
		free(part.wanted);
	}
	return set;
}

static bool is_final(struct gpubpf_twin_module *set)
{
	bool made;

	if (!set)
		return true; /* no module can be created, so waiting does not help */
	pthread_mutex_lock(&set->program->lock);
	made = set->state == SET_LOADED || set->state == SET_REFUSED;
	pthread_mutex_unlock(&set->program->lock);
	return made;
}

/* Binds the entry while the device is in use, since gpubpf_twin_bind_entry() calls the runtime. False: as that
 * function. */
static bool bind_on_device(struct gpubpf_dispatch_entry *choice, const struct gpubpf_plan *plan, struct gpubpf_twin_module *set,
			   uint32_t registers, bool may_wait)
{
	bool bound;

	if (!gpubpf_agent_job_use_device())
		return true;
	bound = gpubpf_twin_bind_entry(choice, plan, set, registers, may_wait);
	gpubpf_agent_job_leave_device();
	return bound;
}

struct refresh_args {
	struct gpubpf_dispatch_entry *choice;
	const struct gpubpf_plan *plan;
	bool may_wait;
};

/* Refresh the binding of a kernel that the plan matches. */
static void refresh_matching(void *arg)
{
	const struct refresh_args *s = arg;
	struct gpubpf_twin_module *set;
	uint32_t registers;

	do {
		registers = atomic_load(&s->choice->registers);
		set = find_set(s->choice, s->plan, registers, s->may_wait);
	} while (is_final(set) && !bind_on_device(s->choice, s->plan, set, registers, s->may_wait));
}

bool gpubpf_twin_refresh_binding(struct gpubpf_dispatch_entry *choice, bool may_wait)
{
	struct gpubpf_plan *plan = gpubpf_plan_read();
	struct gpubpf_hook_kernel *kernel = choice->kernel;
	bool wanted = !plan || gpubpf_plan_matches(plan, kernel->whole);

	if (plan && wanted) {
		struct refresh_args refresh_args = { choice, plan, may_wait };

		atomic_store_explicit(&kernel->wanted, true, memory_order_relaxed);
		if (gpubpf_hook_callbacks)
			refresh_matching(&refresh_args); /* a runtime thread, which may hold the runtime's locks */
		else
			gpubpf_run_on_agent_thread(refresh_matching, &refresh_args);
	} else if (plan) {
		gpubpf_twin_clear_binding(choice, plan, may_wait);
	}
	free(plan);
	return wanted;
}

struct sending {
	struct gpubpf_twin_module *set;
	int err;
};

static void send_in_thread(void *arg)
{
	struct sending *s = arg;

	s->err = gpubpf_twin_send_request(s->set, "");
}

/* The caller holds the program's lock, which is dropped during the send. */
static void request_ahead(struct gpubpf_twin_module *set)
{
	struct sending sending = { set, -EAGAIN };
	int err;

	gpubpf_assert_held(&set->program->lock);
	if (set->state != SET_NEW)
		return;
	set->state = SET_BUSY;
	pthread_mutex_unlock(&set->program->lock);
	if (gpubpf_client_can_request())
		gpubpf_run_on_agent_thread(send_in_thread, &sending);
	err = sending.err;
	pthread_mutex_lock(&set->program->lock);
	set->state = err == -EAGAIN ? SET_NEW : err < 0 ? SET_REFUSED : SET_REQUESTED;
	pthread_cond_broadcast(&set->program->cond);
}

void gpubpf_twin_request(struct gpubpf_dispatch_entry *choice)
{
	struct gpubpf_plan *plan = gpubpf_plan_read();
	struct gpubpf_twin_module *set = plan ? find_set(choice, plan, atomic_load(&choice->registers), false) : NULL;

	if (set) {
		pthread_mutex_lock(&set->program->lock);
		request_ahead(set);
		pthread_mutex_unlock(&set->program->lock);
	}
	free(plan);
}
