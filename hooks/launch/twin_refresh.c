/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: updates a dispatch entry to the current plan. Sends the program's image to the session once per device, set of
 * matching links and register limit, with the names of the matching kernels. The session answers with a twin image and
 * a list of its kernels, and the runtime loads that image.
 * Before: the entry has the binding of an older plan, or no binding.
 * After: the entry has the plan's binding: a twin, a refusal with its reason, or NULL if nothing is attached. The entry
 * stays at the older plan if the wait budget is used up. It also stays there if no twin is ready and the caller may not
 * wait.
 * Requires: the lock order of agent.h. Agent threads (async_twins.c) call the same functions without using the budget.
 *
 * If a plan has the same set of BPF programs as an earlier plan, the twins of that plan are reused.
 */
#include "twin.h"

#include <errno.h>
#include <stdlib.h>

#include "core/wire/checks.h"

/*
 * Returns true if the kernel was launched only by API calls for which gpubpf cannot use a twin. The row keeps this
 * refusal until a twin runs.
 */
static bool has_unsupported_launch(const struct gpubpf_kernel_row *k)
{
	return __atomic_load_n(&k->state, __ATOMIC_RELAXED) == GPUBPF_KERNEL_REFUSED &&
	       __atomic_load_n(&k->missed[GPUBPF_MISS_UNSUPPORTED], __ATOMIC_RELAXED);
}

/*
 * Request the module's twins and load the answer, as far as the caller may wait. The caller holds the program's lock.
 */
static void refresh_module_once(struct gpubpf_dispatch_entry *dispatch, struct gpubpf_twin_module *module)
{
	const char *kernel = dispatch->kernel->full_name;

	gpubpf_assert_held(&module->program->lock);
	if (module->state < SET_LOADED && !gpubpf_entry_has_twin(dispatch) &&
	    !has_unsupported_launch(dispatch->entry->shared))
		gpubpf_kernel_table_set_state(dispatch->entry, GPUBPF_KERNEL_WAITING, NULL);
	if (module->state == SET_NEW)
		gpubpf_twin_run_step(module, SET_REQUESTED, kernel);
	gpubpf_twin_wait_while_busy(module);
	if (module->state == SET_REQUESTED)
		gpubpf_twin_wait_for_answer(module, kernel);
	gpubpf_twin_wait_while_busy(module);
}

/* Request and load the twins. If the runtime fails to load one form (PTX or machine code), repeat with another form. */
static void refresh_module(struct gpubpf_dispatch_entry *dispatch, struct gpubpf_twin_module *module)
{
	uint32_t known;

	do {
		known = module->unloadable;
		refresh_module_once(dispatch, module);
	} while (module->state < SET_LOADED && module->unloadable != known);
}

/*
 * Returns the names of all kernels of the program, which are queried once. NULL: the adapter does not report names, so
 * the program counts as one kernel.
 */
static const struct gpubpf_name_list *kernels_of(struct gpubpf_hook_program *program)
{
	struct gpubpf_name_list *names = atomic_load_explicit(&program->kernels, memory_order_acquire), *none = NULL;

	if (names || gpubpf_is_agent_thread() || !program->ops->kernels ||
	    !(names = program->ops->kernels(program->adapter)))
		return names;
	if (atomic_compare_exchange_strong(&program->kernels, &none, names))
		return names;
	free(names);
	return none;
}

/*
 * Find or create the twin module for the links that match kernels of the program. With may_wait, also request and load
 * its twins, within the wait budget. Returns NULL if out of memory, or if there are too many modules.
 */
static struct gpubpf_twin_module *find_module(struct gpubpf_dispatch_entry *dispatch, const struct gpubpf_plan *plan,
					      uint32_t registers, bool may_wait)
{
	struct gpubpf_hook_program *program = dispatch->kernel->program;
	const char *own_name = dispatch->kernel->full_name;
	const struct gpubpf_name_list *kernels = kernels_of(program);
	struct gpubpf_name_list *own = kernels ? NULL : gpubpf_names_create(&own_name, 1);
	struct gpubpf_twin_module *module;
	struct gpubpf_plan_subset part;
	int err = kernels || own ? gpubpf_twin_select_links(plan, kernels ? kernels : own, &part) : -ENOMEM;

	free(own);
	if (err < 0)
		return NULL;
	pthread_mutex_lock(&program->lock);
	module = gpubpf_twin_module_get_or_create(program, dispatch->device, registers, part.links, part.nlinks,
						  part.kernel_names);
	if (module && may_wait)
		refresh_module(dispatch, module);
	pthread_mutex_unlock(&program->lock);
	if (!module) {
		free(part.links);
		free(part.kernel_names);
	}
	return module;
}

static bool is_final(struct gpubpf_twin_module *module)
{
	bool made;

	if (!module)
		return true; /* no module can be created, so waiting does not help */
	pthread_mutex_lock(&module->program->lock);
	made = module->state == SET_LOADED || module->state == SET_REFUSED;
	pthread_mutex_unlock(&module->program->lock);
	return made;
}

/*
 * Bind the entry while the device is in use, since gpubpf_twin_bind_entry() calls the runtime. Returns the result of
 * that function, or true if the device cannot be used.
 */
static bool bind_on_device(struct gpubpf_dispatch_entry *dispatch, const struct gpubpf_plan *plan,
			   struct gpubpf_twin_module *module, uint32_t registers, bool may_wait)
{
	bool bound;

	if (!gpubpf_agent_job_use_device())
		return true;
	bound = gpubpf_twin_bind_entry(dispatch, plan, module, registers, may_wait);
	gpubpf_agent_job_leave_device();
	return bound;
}

const struct gpubpf_hook_binding *gpubpf_twin_build_binding(struct gpubpf_dispatch_entry *dispatch,
							    const struct gpubpf_plan *plan, uint32_t registers)
{
	struct gpubpf_twin_module *module = find_module(dispatch, plan, registers, true);
	const struct gpubpf_hook_binding *b;

	if (!module || !is_final(module) || !gpubpf_agent_job_use_device())
		return NULL;
	b = gpubpf_twin_create_binding(dispatch, plan, module);
	gpubpf_agent_job_leave_device();
	return b;
}

struct refresh_args {
	struct gpubpf_dispatch_entry *dispatch;
	const struct gpubpf_plan *plan;
	bool may_wait;
};

/* Refresh the binding of a kernel that the plan matches. */
static void refresh_matching(void *arg)
{
	const struct refresh_args *s = arg;
	struct gpubpf_twin_module *module;
	uint32_t registers;

	do {
		registers = atomic_load(&s->dispatch->registers);
		module = find_module(s->dispatch, s->plan, registers, s->may_wait);
	} while (is_final(module) && !bind_on_device(s->dispatch, s->plan, module, registers, s->may_wait));
}

/*
 * Returns a copy of the plan. If the runtime measures launches on the device, the copy lacks the links of programs that
 * only do the same. NULL: as for gpubpf_plan_read().
 */
static struct gpubpf_plan *read_plan(struct gpubpf_dispatch_entry *dispatch)
{
	const struct gpubpf_hook_device *device = dispatch->device;
	struct gpubpf_plan *plan = gpubpf_plan_read();
	bool measures = device->ops->times_launches && device->ops->times_launches(device);

	if (plan)
		atomic_store(&dispatch->is_timed, measures && gpubpf_plan_remove_times(plan, dispatch->kernel->full_name,
										       &dispatch->timed_links));
	return plan;
}

/* Open the device, so that the session lists it, although its launches need no twin. */
static void open_device(void *device)
{
	struct gpubpf_reason why;

	if (gpubpf_client_can_request())
		gpubpf_device_make_ready(device, &why);
}

bool gpubpf_twin_refresh_binding(struct gpubpf_dispatch_entry *dispatch, bool may_wait)
{
	struct gpubpf_plan *plan = read_plan(dispatch);
	struct gpubpf_hook_kernel *kernel = dispatch->kernel;
	bool wanted = !plan || gpubpf_plan_matches(plan, kernel->full_name);

	if (plan && wanted) {
		struct refresh_args refresh_args = { dispatch, plan, may_wait };

		atomic_store_explicit(&kernel->is_matched, true, memory_order_relaxed);
		if (gpubpf_hook_callbacks)
			/* in a callback: stay on the runtime's thread, which may hold locks of the runtime */
			refresh_matching(&refresh_args);
		else
			gpubpf_run_on_agent_thread(refresh_matching, &refresh_args);
	} else if (plan) {
		gpubpf_twin_clear_binding(dispatch, plan, may_wait);
		if (atomic_load(&dispatch->is_timed)) {
			gpubpf_kernel_table_set_state(dispatch->entry, GPUBPF_KERNEL_TIMED, "");
			if (may_wait && !gpubpf_hook_callbacks)
				gpubpf_run_on_agent_thread(open_device, dispatch->device);
		}
	}
	free(plan);
	return wanted;
}

struct sending {
	struct gpubpf_twin_module *module;
	int err;
};

static void send_in_thread(void *arg)
{
	struct sending *s = arg;

	s->err = gpubpf_twin_send_request(s->module, "");
}

/*
 * Send the request without waiting for the answer. The caller holds the program's lock, which is released during the
 * send.
 */
static void request_ahead(struct gpubpf_twin_module *module)
{
	struct sending sending = { module, -EAGAIN };
	int err;

	gpubpf_assert_held(&module->program->lock);
	if (module->state != SET_NEW)
		return;
	module->state = SET_BUSY;
	pthread_mutex_unlock(&module->program->lock);
	if (gpubpf_client_can_request())
		gpubpf_run_on_agent_thread(send_in_thread, &sending);
	err = sending.err;
	pthread_mutex_lock(&module->program->lock);
	module->state = err == -EAGAIN ? SET_NEW : err < 0 ? SET_REFUSED : SET_REQUESTED;
	pthread_cond_broadcast(&module->program->cond);
}

void gpubpf_twin_request(struct gpubpf_dispatch_entry *dispatch)
{
	struct gpubpf_plan *plan = read_plan(dispatch);
	/* a kernel needs no twin if the runtime measures its launches and no other program matches */
	bool wanted = plan && gpubpf_plan_matches(plan, dispatch->kernel->full_name);
	struct gpubpf_twin_module *module =
		wanted ? find_module(dispatch, plan, atomic_load(&dispatch->registers), false) : NULL;

	if (module) {
		pthread_mutex_lock(&module->program->lock);
		request_ahead(module);
		pthread_mutex_unlock(&module->program->lock);
	}
	free(plan);
}
