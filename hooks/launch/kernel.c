/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the application's GPU programs and kernels. The adapter owns a kernel's record until it destroys the
 * kernel. An agent thread may hold the record longer, but then does not use the adapter's state.
 */
#include "count.h"
#include "gate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/checks.h"

int gpubpf_hook_program_create(const struct gpubpf_hook_ops *ops, void *adapter_program,
			       struct gpubpf_hook_program **program)
{
	struct gpubpf_hook_program *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->ops = ops;
	p->adapter = adapter_program;
	p->refs = p->owners = 1;
	p->generation = gpubpf_session_generation();
	pthread_mutex_init(&p->lock, NULL);
	gpubpf_cond_init(&p->cond);
	*program = p;
	return 0;
}

static void put_program(struct gpubpf_hook_program *program)
{
	if (!gpubpf_ref_was_last(atomic_fetch_sub(&program->refs, 1)))
		return;
	gpubpf_twin_modules_destroy(program);
	free(program->kernels);
	pthread_mutex_destroy(&program->lock);
	pthread_cond_destroy(&program->cond);
	free(program);
}

void gpubpf_hook_program_destroy(struct gpubpf_hook_program *program)
{
	if (!program)
		return;
	if (gpubpf_ref_was_last(atomic_fetch_sub(&program->owners, 1)) &&
	    !gpubpf_generation_is_inherited(program->generation))
		gpubpf_twin_modules_unload(program);
	put_program(program);
}

int gpubpf_hook_kernel_create(struct gpubpf_hook_program *program, void *adapter_kernel, const char *name,
			      struct gpubpf_hook_kernel **kernel)
{
	struct gpubpf_hook_kernel *k = calloc(1, sizeof(*k) + strlen(name) + 1);

	if (!k)
		return -ENOMEM;
	gpubpf_name_short(name, strlen(name), k->name);
	strcpy(k->full_name, name);
	k->program = program;
	k->adapter = adapter_kernel;
	k->generation = gpubpf_session_generation();
	k->refs = 1;
	pthread_mutex_init(&k->lock, NULL);
	atomic_fetch_add(&program->owners, 1);
	atomic_fetch_add(&program->refs, 1);
	*kernel = k;
	return 0;
}

bool gpubpf_hook_kernel_is_matched(const struct gpubpf_hook_kernel *kernel)
{
	return atomic_load_explicit(&kernel->is_matched, memory_order_relaxed);
}

const char *gpubpf_hook_kernel_name(const struct gpubpf_hook_kernel *kernel)
{
	return kernel->full_name;
}

static void free_bindings(const struct gpubpf_hook_ops *ops, struct gpubpf_hook_binding *b)
{
	while (b) {
		struct gpubpf_hook_binding *next = b->next;

		if (b->twin)
			ops->twin_kernel_put(b->twin);
		free(b);
		b = next;
	}
}

void gpubpf_hook_kernel_hold(struct gpubpf_hook_kernel *kernel)
{
	atomic_fetch_add(&kernel->refs, 1);
	atomic_fetch_add(&kernel->program->refs, 1);
}

static void free_kernel(struct gpubpf_hook_kernel *kernel)
{
	struct gpubpf_dispatch_entry *dispatch, *next;

	for (dispatch = kernel->dispatches; dispatch; dispatch = next) {
		next = dispatch->next;
		gpubpf_subsets_free(dispatch);
		free(dispatch);
	}
	pthread_mutex_destroy(&kernel->lock);
	free(kernel);
}

void gpubpf_hook_kernel_put(struct gpubpf_hook_kernel *kernel)
{
	struct gpubpf_hook_program *program = kernel->program;

	if (gpubpf_ref_was_last(atomic_fetch_sub(&kernel->refs, 1)))
		free_kernel(kernel);
	put_program(program);
}

static atomic_int unused;

int gpubpf_entries_unused(void)
{
	return atomic_load(&unused);
}

void gpubpf_entry_note_unused(struct gpubpf_dispatch_entry *dispatch)
{
	if (!atomic_exchange(&dispatch->is_unused, true))
		atomic_fetch_add(&unused, 1);
}

void gpubpf_entry_note_used(struct gpubpf_dispatch_entry *dispatch)
{
	if (atomic_exchange(&dispatch->is_unused, false))
		atomic_fetch_sub(&unused, 1);
}

/* Release the kernel's twins. The kernel's record may live longer, while an agent thread holds a reference. */
static void release_bindings(struct gpubpf_hook_kernel *kernel)
{
	atomic_store(&kernel->gone, true);
	for (struct gpubpf_dispatch_entry *dispatch = kernel->dispatches; dispatch; dispatch = dispatch->next) {
		gpubpf_entry_note_used(dispatch);
		free_bindings(kernel->program->ops, dispatch->bindings);
		dispatch->bindings = NULL;
		dispatch->binding = NULL;
	}
}

void gpubpf_hook_kernel_destroy(struct gpubpf_hook_kernel *kernel)
{
	struct gpubpf_hook_program *program = kernel ? kernel->program : NULL;

	if (!kernel)
		return;
	if (gpubpf_generation_is_inherited(kernel->generation)) {
		release_bindings(kernel);
	} else {
		pthread_mutex_lock(&kernel->lock);
		release_bindings(kernel);
		pthread_mutex_unlock(&kernel->lock);
	}
	if (gpubpf_ref_was_last(atomic_fetch_sub(&kernel->refs, 1)))
		free_kernel(kernel);
	gpubpf_hook_program_destroy(program);
}
