/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel launches. If the launch path selects a twin, the adapter sets the original's arguments and settings on the
 * twin. Then it appends the twin with the application's events. If the driver refuses the twin, the adapter appends the
 * original. The application sees only errors of the original. Appending to an immediate command list launches the
 * kernel. Appending to a regular command list records it.
 */
#include "level_zero.h"

#include <stdlib.h>

#define RECORDED_REASON                                                                                             \
	"recorded in a command list before a program was attached, or before its twin was ready; it is probed from " \
	"the list's next recording on"

static ze_result_t append(const struct lz_append *a, ze_kernel_handle_t kernel)
{
	if (a->plain)
		return a->plain(a->list, kernel, a->groups, a->event, a->nwait, a->wait);
	if (a->size)
		return lz_append_values(a, kernel, a->values);
	return a->driver->next.CommandListAppendLaunchKernelWithParameters(a->list, kernel, a->groups, a->more,
									   a->event, a->nwait, a->wait);
}

static int append_original(const void *call)
{
	const struct lz_append *a = call;

	return append(a, a->original);
}

/* Set the twin's extra arguments, which follow the kernel's own arguments (enum gpubpf_twin_flags). */
static ze_result_t set_extra(const struct lz_driver *d, const struct gpubpf_hook_launch *l, const struct lz_twin *twin)
{
	uint32_t at = twin->kernel->nargs;
	ze_result_t err = ZE_RESULT_SUCCESS;

	if (l->twin_flags & GPUBPF_TWIN_ARG_ARENA)
		err = d->api.KernelSetArgumentValue(twin->handle, at++, sizeof(l->arena), &l->arena);
	if (!err && l->twin_flags & GPUBPF_TWIN_ARG_LAUNCH)
		err = d->api.KernelSetArgumentValue(twin->handle, at++, sizeof(l->number), &l->number);
	if (!err && l->twin_flags & GPUBPF_TWIN_ARG_PID)
		err = d->api.KernelSetArgumentValue(twin->handle, at++, sizeof(l->pid_tgid), &l->pid_tgid);
	return err;
}

static int prepare_twin(const struct lz_driver *d, const struct gpubpf_hook_launch *l)
{
	struct lz_twin *twin = l->twin;
	ze_result_t err;

	if (!twin->kernel->recorded)
		return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
	err = lz_kernel_apply(twin);
	return err ? (int)err : (int)set_extra(d, l, twin);
}

/* Returns true if the twin fits on the device. All groups of a cooperative launch must run at the same time. */
static bool fits(const struct lz_append *a, ze_kernel_handle_t twin)
{
	uint32_t most = 0;

	if (!a->cooperative)
		return true;
	return !a->driver->api.KernelSuggestMaxCooperativeGroupCount(twin, &most) && a->groups &&
	       (uint64_t)a->groups->groupCountX * a->groups->groupCountY * a->groups->groupCountZ <= most;
}

static int append_twin(const void *call, struct gpubpf_hook_launch *l)
{
	const struct lz_append *a = call;
	struct lz_twin *twin = l->twin;
	int err;

	pthread_mutex_lock(&a->kernel->lock);
	err = a->size ? (int)lz_kernel_apply_setting(twin) : prepare_twin(a->driver, l);
	if (!err && !fits(a, twin->handle))
		err = GPUBPF_TWIN_NO_ROOM;
	if (!err)
		err = a->size ? (int)lz_append_values_twin(a, l) : (int)append(a, twin->handle);
	pthread_mutex_unlock(&a->kernel->lock);
	return err;
}

static void describe(struct gpubpf_hook_launch *l, struct lz_kernel *k, const ze_group_count_t *groups,
		     const struct lz_group_size *size)
{
	const uint32_t *group = size ? &size->x : k->setting.group;
	uint32_t count[3] = { 0 }; /* stays 0 for an indirect launch, whose number of groups only the device knows */

	if (groups) {
		count[0] = groups->groupCountX;
		count[1] = groups->groupCountY;
		count[2] = groups->groupCountZ;
	}
	*l = (struct gpubpf_hook_launch){ .kernel = k->hook, .device = k->module->hook_device, .dim = 3 };
	for (int i = 0; i < 3; i++) {
		l->block[i] = group[i];
		l->grid[i] = (size_t)count[i] * group[i];
	}
}

/* Record that a command list contains the twin. */
static void mark_in_list(const struct gpubpf_hook_launch *l)
{
	struct lz_twin *twin = l->twin;

	atomic_store_explicit(&twin->is_in_list, true, memory_order_relaxed);
	gpubpf_hook_untracked_launch(l->device);
}

static ze_result_t record(const struct lz_append *a, struct lz_list *list, struct gpubpf_hook_launch *l)
{
	int refused = 0, err;

	gpubpf_hook_launch_begin(l);
	if (l->twin)
		refused = append_twin(a, l);
	if (l->twin && !refused) {
		mark_in_list(l);
		lz_list_add(list, gpubpf_hook_launch_record(l, GPUBPF_LAUNCHED, RECORDED_REASON));
		return ZE_RESULT_SUCCESS;
	}
	err = append_original(a);
	l->result = err;
	lz_list_add(list, gpubpf_hook_launch_record(l,
						    err     ? GPUBPF_LAUNCH_FAILED :
						    l->twin ? GPUBPF_LAUNCHED_ORIGINAL :
							      GPUBPF_LAUNCHED,
						    RECORDED_REASON));
	if (l->twin && !err)
		gpubpf_hook_twin_refused(l, refused);
	return err;
}

static void note_args_set(const struct lz_append *a)
{
	pthread_mutex_lock(&a->kernel->lock);
	lz_kernel_note_args_set(a->kernel, a->size);
	pthread_mutex_unlock(&a->kernel->lock);
}

static ze_result_t launch(struct lz_append *a)
{
	struct lz_list *list = gpubpf_records_find(&lz_lists, a->list);
	struct gpubpf_hook_launch l;
	ze_result_t err;

	a->in = list;
	a->kernel = list ? gpubpf_records_find(&lz_kernels, a->original) : NULL;
	if (!a->kernel)
		return append(a, a->original);
	describe(&l, a->kernel, a->indirect ? NULL : a->groups, a->size);
	l.function = a->function;
	l.stream = (uintptr_t)a->list;
	err = list->immediate ? (ze_result_t)gpubpf_hook_launch_run(&l, append_twin, append_original, a) :
				record(a, list, &l);
	if (l.twin && !lz_list_can_be_waited_for(list))
		gpubpf_hook_untracked_launch(l.device);
	if (!err && a->size)
		note_args_set(a);
	return err;
}

/* Launch one kernel. Takes the parameters that all calls have, and the members of struct lz_append that differ. */
#define LAUNCH(...)                                       \
	launch(&(struct lz_append){ .driver = d,          \
				    .list = list,         \
				    .original = kernel,   \
				    .event = event,       \
				    .nwait = nwait,       \
				    .wait = wait,         \
				    __VA_ARGS__ })

ze_result_t lz_CommandListAppendLaunchKernel(struct lz_driver *d, ze_command_list_handle_t list,
					     ze_kernel_handle_t kernel, const ze_group_count_t *groups,
					     ze_event_handle_t event, uint32_t nwait, ze_event_handle_t *wait)
{
	return LAUNCH(.function = "zeCommandListAppendLaunchKernel", .plain = d->next.CommandListAppendLaunchKernel,
		      .groups = groups);
}

ze_result_t lz_CommandListAppendLaunchCooperativeKernel(struct lz_driver *d, ze_command_list_handle_t list,
							ze_kernel_handle_t kernel, const ze_group_count_t *groups,
							ze_event_handle_t event, uint32_t nwait, ze_event_handle_t *wait)
{
	return LAUNCH(.function = "zeCommandListAppendLaunchCooperativeKernel",
		      .plain = d->next.CommandListAppendLaunchCooperativeKernel, .groups = groups, .cooperative = true);
}

ze_result_t lz_CommandListAppendLaunchKernelIndirect(struct lz_driver *d, ze_command_list_handle_t list,
						     ze_kernel_handle_t kernel, const ze_group_count_t *groups,
						     ze_event_handle_t event, uint32_t nwait, ze_event_handle_t *wait)
{
	return LAUNCH(.function = "zeCommandListAppendLaunchKernelIndirect",
		      .plain = d->next.CommandListAppendLaunchKernelIndirect, .groups = groups, .indirect = true);
}

ze_result_t lz_CommandListAppendLaunchKernelWithParameters(struct lz_driver *d, ze_command_list_handle_t list,
							   ze_kernel_handle_t kernel, const ze_group_count_t *groups,
							   const void *more, ze_event_handle_t event, uint32_t nwait,
							   ze_event_handle_t *wait)
{
	return LAUNCH(.function = "zeCommandListAppendLaunchKernelWithParameters", .groups = groups,
		      .cooperative = lz_append_cooperative(more), .more = more);
}

ze_result_t lz_CommandListAppendLaunchKernelWithArguments(struct lz_driver *d, ze_command_list_handle_t list,
							  ze_kernel_handle_t kernel, ze_group_count_t groups,
							  struct lz_group_size size, void **values, const void *more,
							  ze_event_handle_t event, uint32_t nwait, ze_event_handle_t *wait)
{
	return LAUNCH(.function = "zeCommandListAppendLaunchKernelWithArguments", .groups = &groups, .size = &size,
		      .values = values, .cooperative = lz_append_cooperative(more), .more = more);
}

/* ---- calls with several kernels: only the device knows how many it launches, so the agent counts all of them ---- */

struct multi_launch {
	struct lz_list *list;
	uint32_t n;
	ze_kernel_handle_t *chosen;
	struct gpubpf_hook_launch *launches; /* n launches; their member `kernel` is NULL if the kernel has no record */
};

static bool open_multi(struct multi_launch *s, ze_command_list_handle_t list, uint32_t n)
{
	s->list = gpubpf_records_find(&lz_lists, list);
	s->n = n;
	s->chosen = s->list ? calloc(n + 1, sizeof(*s->chosen)) : NULL;
	s->launches = s->chosen ? calloc(n + 1, sizeof(*s->launches)) : NULL;
	return s->launches;
}

/* Store in s->chosen the handle to append for each kernel. Returns false if all of them are originals. */
static bool select_twins(const struct lz_driver *d, struct multi_launch *s, const ze_kernel_handle_t *kernels)
{
	bool any = false;

	for (uint32_t i = 0; i < s->n; i++) {
		struct lz_kernel *k = gpubpf_records_find(&lz_kernels, kernels[i]);
		struct gpubpf_hook_launch *l = &s->launches[i];
		struct lz_twin *twin;
		int err = ZE_RESULT_ERROR_UNKNOWN;

		s->chosen[i] = kernels[i];
		if (!k)
			continue;
		describe(l, k, NULL, NULL);
		l->function = "zeCommandListAppendLaunchMultipleKernelsIndirect";
		l->stream = (uintptr_t)s->list->object.handle;
		gpubpf_hook_launch_begin(l);
		twin = l->twin;
		if (!twin)
			continue;
		pthread_mutex_lock(&k->lock);
		err = prepare_twin(d, l);
		pthread_mutex_unlock(&k->lock);
		if (!err)
			s->chosen[i] = twin->handle;
		any |= !err;
	}
	return any;
}

static void close_multi(struct multi_launch *s, const ze_kernel_handle_t *kernels, ze_result_t err, bool twins)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct gpubpf_hook_launch *l = &s->launches[i];
		bool is_twin = twins && s->chosen[i] != kernels[i];
		enum gpubpf_hook_outcome outcome = err                 ? GPUBPF_LAUNCH_FAILED :
						   l->twin && !is_twin ? GPUBPF_LAUNCHED_ORIGINAL :
									 GPUBPF_LAUNCHED;

		if (!l->kernel)
			continue;
		if (!s->list->immediate) {
			if (is_twin && !err)
				mark_in_list(l);
			lz_list_add(s->list, gpubpf_hook_launch_record(l, outcome, RECORDED_REASON));
			continue;
		}
		gpubpf_hook_launch_end(l, outcome);
		if (l->followed && outcome == GPUBPF_LAUNCHED)
			gpubpf_hook_completed(l->device);
		if (is_twin && !lz_list_can_be_waited_for(s->list))
			gpubpf_hook_untracked_launch(l->device);
	}
	free(s->chosen);
	free(s->launches);
}

ze_result_t lz_CommandListAppendLaunchMultipleKernelsIndirect(struct lz_driver *d, ze_command_list_handle_t list,
							      uint32_t n, ze_kernel_handle_t *kernels,
							      const uint32_t *count, const ze_group_count_t *groups,
							      ze_event_handle_t event, uint32_t nwait,
							      ze_event_handle_t *wait)
{
	__typeof__(&zeCommandListAppendLaunchMultipleKernelsIndirect) next =
		d->next.CommandListAppendLaunchMultipleKernelsIndirect;
	struct multi_launch s = { 0 };
	ze_result_t err;
	bool twins;

	if (!kernels || !open_multi(&s, list, n)) {
		free(s.chosen);
		return next(list, n, kernels, count, groups, event, nwait, wait);
	}
	twins = select_twins(d, &s, kernels) && !next(list, n, s.chosen, count, groups, event, nwait, wait);
	err = twins ? ZE_RESULT_SUCCESS : next(list, n, kernels, count, groups, event, nwait, wait);
	close_multi(&s, kernels, err, twins);
	return err;
}
