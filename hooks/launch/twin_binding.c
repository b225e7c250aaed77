/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: creates a kernel's twin from a loaded module and makes launches use it.
 * Before: the module is loaded or refused.
 * After: the dispatch entry has the plan's binding: a twin, a refusal with its reason, or NULL if nothing is attached.
 * Requires: the caller has called gpubpf_agent_job_use_device().
 */
#include "twin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/checks.h"

static const struct gpubpf_twin_entry *find_entry(const struct gpubpf_twin_module *module, const char *name)
{
	for (uint32_t i = 0; i < module->answer.n; i++)
		if (!strcmp(module->answer.entries[i].name, name))
			return &module->answer.entries[i];
	return NULL;
}

static void show_code(struct gpubpf_dispatch_entry *dispatch, const struct gpubpf_hook_binding *binding)
{
	const struct gpubpf_hook_ops *ops = dispatch->kernel->program->ops;
	uint32_t before = 0, after = 0;

	if (ops->twin_compiled_by)
		__atomic_store_n(&dispatch->entry->shared->compiled_by, ops->twin_compiled_by(binding->twin),
				 __ATOMIC_RELAXED);
	if (!ops->twin_registers)
		return;
	ops->twin_registers(binding->twin, &before, &after);
	__atomic_store_n(&dispatch->entry->shared->regs_before, before, __ATOMIC_RELAXED);
	__atomic_store_n(&dispatch->entry->shared->regs_after, after, __ATOMIC_RELAXED);
}

static void refuse(struct gpubpf_hook_binding *b, const char *reason)
{
	snprintf(b->reason, sizeof(b->reason), "%s", reason);
}

/*
 * Store the reason in the binding. If the runtime failed to load the twin in an earlier form (PTX or machine code), put
 * that reason first.
 */
static void refuse_module(struct gpubpf_hook_binding *b, const struct gpubpf_twin_module *module, const char *reason)
{
	if (module->form_reason.text[0])
		snprintf(b->reason, sizeof(b->reason), "%.120s; %.110s", module->form_reason.text, reason);
	else
		refuse(b, reason);
}

/* Create this kernel's twin from the loaded module. */
static void make_twin(struct gpubpf_dispatch_entry *dispatch, struct gpubpf_twin_module *module,
		      struct gpubpf_hook_binding *b)
{
	const struct gpubpf_twin_entry *entry = find_entry(module, dispatch->kernel->name);
	bool nothing = entry && !entry->twin[0] && !entry->reason[0];
	struct gpubpf_hook_twin what;
	struct gpubpf_reason why = { 0 };
	int err;

	/* no attached BPF program has a place in the kernel */
	b->has_no_place = nothing && !module->form_reason.text[0];
	if (!entry || !entry->twin[0]) {
		refuse_module(b, module,
			      !entry ? "the session did not find this kernel in the application's image" :
			      nothing && !b->has_no_place ? "its other form has no place that an attached program uses" :
							    entry->reason);
		return;
	}
	what = (struct gpubpf_hook_twin){ entry->twin, entry->id, entry->nparams, entry->flags };
	err = module->program->ops->twin_kernel(module->handle, &what, dispatch->kernel->adapter, &b->twin, &why);
	if (err < 0) {
		gpubpf_twin_set_reason(&why, err, "the runtime failed to create the twin: %s", strerror(-err));
		b->twin = NULL;
		refuse(b, why.text);
		return;
	}
	b->twin_flags = entry->flags;
	gpubpf_kernel_table_add(&dispatch->entry->shared->load_ns,
				__atomic_exchange_n(&module->load_ns, 0, __ATOMIC_RELAXED));
}

static struct gpubpf_hook_binding *find_binding(const struct gpubpf_dispatch_entry *dispatch,
						const struct gpubpf_twin_module *module)
{
	struct gpubpf_hook_binding *b = dispatch->bindings;

	gpubpf_assert_held(&dispatch->kernel->lock);
	while (b && b->module != module)
		b = b->next;
	return b;
}

/* Find or create the entry's binding for the module, a twin or a refusal. The caller holds the kernel's lock. */
static struct gpubpf_hook_binding *get_or_create_binding(struct gpubpf_dispatch_entry *dispatch,
							 struct gpubpf_twin_module *module, const struct gpubpf_plan *plan)
{
	struct gpubpf_hook_binding *b = find_binding(dispatch, module);

	if (b || !(b = calloc(1, sizeof(*b) + plan->n * sizeof(*b->links))))
		return b;
	b->module = module;
	b->nlinks = gpubpf_plan_links(plan, dispatch->kernel->full_name, b->links);
	if (!module)
		refuse(b, "out of memory, or it was probed with too many combinations of programs; make the "
			  "application load the kernel again");
	else if (module->state == SET_LOADED)
		make_twin(dispatch, module, b);
	else
		refuse_module(b, module, module->why.text);
	b->next = dispatch->bindings;
	dispatch->bindings = b;
	return b;
}

static void show_state(struct gpubpf_dispatch_entry *dispatch, const struct gpubpf_hook_binding *b)
{
	uint32_t state = __atomic_load_n(&dispatch->entry->shared->state, __ATOMIC_RELAXED);

	if (b && b->twin) {
		show_code(dispatch, b);
		gpubpf_kernel_table_set_state(dispatch->entry, GPUBPF_KERNEL_PROBED, NULL);
	} else if (b && !b->has_no_place) {
		gpubpf_kernel_table_set_state(dispatch->entry, GPUBPF_KERNEL_REFUSED, b->reason);
	} else if (state != GPUBPF_KERNEL_SEEN && (b || (state != GPUBPF_KERNEL_PROBED && state != GPUBPF_KERNEL_TIMED))) {
		/*
		 * The condition excludes a kernel that was probed or timed before a detach (b is NULL). Its state
		 * stays.
		 */
		gpubpf_kernel_table_set_state(dispatch->entry, GPUBPF_KERNEL_SEEN, "");
	}
}

/* Warn if graphs may contain the previous twin, since these graphs still run it. */
static void warn_of_graphs(const struct gpubpf_dispatch_entry *dispatch, const struct gpubpf_hook_binding *before)
{
	const struct gpubpf_hook_ops *ops = dispatch->kernel->program->ops;

	if (before && before->twin && ops->twin_kept && ops->twin_kept(before->twin))
		gpubpf_log_once("kernel %s has a new set of programs; graphs and command lists that were recorded "
				"earlier still run the old set; record them again",
				dispatch->kernel->name);
}

static bool is_subset_of_links(const struct gpubpf_hook_binding *some, const uint32_t *links, uint32_t n)
{
	for (uint32_t i = 0; i < some->nlinks; i++)
		if (!gpubpf_twin_contains_link(links, n, some->links[i]))
			return false;
	return true;
}

/*
 * Returns true if the kernel keeps its previous twin: a newly attached program cannot be inserted, and no program in
 * the previous twin was detached.
 */
static bool keeps_previous_twin(const struct gpubpf_dispatch_entry *dispatch, const struct gpubpf_hook_binding *before,
				const struct gpubpf_hook_binding *b)
{
	if (!b || b->twin || b->has_no_place || !before || !before->twin ||
	    !is_subset_of_links(before, b->links, b->nlinks))
		return false;
	gpubpf_log_once("kernel %s: a newly attached program cannot be added (%s); the present twin stays in use "
			"without it",
			dispatch->kernel->name, b->reason);
	return true;
}

/* Make launches use b, unless the entry already has a newer plan's binding. The caller holds the kernel's lock. */
static void set_binding(struct gpubpf_dispatch_entry *dispatch, const struct gpubpf_plan *plan,
			struct gpubpf_hook_binding *b)
{
	uint64_t known = atomic_load(&dispatch->plan);
	struct gpubpf_hook_binding *before = dispatch->binding;

	gpubpf_assert_held(&dispatch->kernel->lock);
	if (known != GPUBPF_NO_PLAN && known >= plan->generation)
		return;
	if (keeps_previous_twin(dispatch, before, b))
		b = before;
	if (before != b || b || known == GPUBPF_NO_PLAN)
		show_state(dispatch, b);
	atomic_store_explicit(&dispatch->binding, b, memory_order_release);
	atomic_store_explicit(&dispatch->plan, plan->generation, memory_order_release);
	if (before != b && known != GPUBPF_NO_PLAN)
		warn_of_graphs(dispatch, before);
}

/*
 * Returns false if the application has released the kernel. If may_wait is false, also returns false if another thread
 * holds the lock.
 */
static bool lock_kernel(struct gpubpf_hook_kernel *kernel, bool may_wait)
{
	if (may_wait ? pthread_mutex_lock(&kernel->lock) : pthread_mutex_trylock(&kernel->lock))
		return false;
	if (!atomic_load(&kernel->gone))
		return true;
	pthread_mutex_unlock(&kernel->lock);
	return false;
}

bool gpubpf_twin_bind_entry(struct gpubpf_dispatch_entry *dispatch, const struct gpubpf_plan *plan,
			    struct gpubpf_twin_module *module, uint32_t registers, bool may_wait)
{
	struct gpubpf_hook_binding *b = NULL;
	bool wanted;

	if (!lock_kernel(dispatch->kernel, may_wait))
		return true;
	wanted = atomic_load(&dispatch->registers) == registers;
	if (wanted)
		b = may_wait ? get_or_create_binding(dispatch, module, plan) : find_binding(dispatch, module);
	if (wanted && registers && may_wait && (!b || !b->twin)) {
		dispatch->limit_unreachable = true;
		atomic_store(&dispatch->registers, 0);
		wanted = false;
	}
	if (wanted && b)
		set_binding(dispatch, plan, b);
	pthread_mutex_unlock(&dispatch->kernel->lock);
	return wanted || !may_wait;
}

const struct gpubpf_hook_binding *gpubpf_twin_create_binding(struct gpubpf_dispatch_entry *dispatch,
							     const struct gpubpf_plan *plan,
							     struct gpubpf_twin_module *module)
{
	const struct gpubpf_hook_binding *b;

	if (!lock_kernel(dispatch->kernel, true))
		return NULL;
	b = get_or_create_binding(dispatch, module, plan);
	pthread_mutex_unlock(&dispatch->kernel->lock);
	return b;
}

void gpubpf_twin_clear_binding(struct gpubpf_dispatch_entry *dispatch, const struct gpubpf_plan *plan, bool may_wait)
{
	if (!lock_kernel(dispatch->kernel, may_wait))
		return;
	set_binding(dispatch, plan, NULL);
	pthread_mutex_unlock(&dispatch->kernel->lock);
}

void gpubpf_twin_drop_detached(struct gpubpf_dispatch_entry *dispatch)
{
	struct gpubpf_plan *plan = gpubpf_plan_read();
	struct gpubpf_hook_binding *before;
	uint32_t links[GPUBPF_PLAN_LINKS], n;

	if (!plan)
		return;
	n = gpubpf_plan_links(plan, dispatch->kernel->full_name, links);
	free(plan);
	if (!lock_kernel(dispatch->kernel, true))
		return;
	before = dispatch->binding;
	if (before && before->twin && !is_subset_of_links(before, links, n)) {
		atomic_store_explicit(&dispatch->binding, NULL, memory_order_release);
		gpubpf_log_once("kernel %s: a program was detached, and its twin without that program was not ready "
				"in time; it runs unprobed until then",
				dispatch->kernel->name);
	}
	pthread_mutex_unlock(&dispatch->kernel->lock);
}

void gpubpf_twin_limit_registers(struct gpubpf_dispatch_entry *dispatch, uint32_t registers)
{
	uint32_t known;

	pthread_mutex_lock(&dispatch->kernel->lock);
	known = atomic_load(&dispatch->registers);
	if (!dispatch->limit_unreachable && (!known || registers < known)) {
		atomic_store(&dispatch->registers, registers);
		atomic_store_explicit(&dispatch->plan, GPUBPF_NO_PLAN, memory_order_release);
	}
	pthread_mutex_unlock(&dispatch->kernel->lock);
}
