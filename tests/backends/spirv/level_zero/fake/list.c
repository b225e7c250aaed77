/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lists of the fake driver. A regular list records commands and runs them when executed; an immediate list runs
 * them at once.
 */
#include "fake.h"

#include <stdio.h>
#include <string.h>

static void note(const struct _ze_kernel_handle_t *k, const ze_group_count_t *count)
{
	FILE *log = fake_log();

	if (!log)
		return;
	fprintf(log, "kernel %s launches 1 items %llu\n", k->name, (unsigned long long)k->group[0] * k->group[1] * k->group[2] *
		count->groupCountX * count->groupCountY * count->groupCountZ);
	if (k->indirect)
		fprintf(log, "indirect %x\n", k->indirect);
	fclose(log);
}

static ze_result_t launch(const struct command *c)
{
	const ze_group_count_t *count = c->indirect ? c->indirect : &c->count;
	cl_int err;

	if (c->most && c->number >= *c->most)
		return ZE_RESULT_SUCCESS;
	note(&c->kernel, count);
	err = fake_run(&c->kernel, count);
	if (err)
		fprintf(stderr, "fake driver: kernel %s: OpenCL error %d\n", c->kernel.name, err);
	return err ? ZE_RESULT_ERROR_UNKNOWN : ZE_RESULT_SUCCESS;
}

static ze_result_t execute(const struct command *c)
{
	switch (c->what) {
	case LAUNCH:
		return launch(c);
	case COPY:
		fake_memory_copy(c->to, c->from, c->size);
		break;
	case FILL:
		fake_memory_fill(c->to, c->size, c->fill, c->pattern);
		break;
	case SIGNAL:
		c->event->signalled = true;
		break;
	case RESET:
		c->event->signalled = false;
		break;
	case WAIT: /* an unsignalled event is a deadlock, because nothing runs in the background */
		return c->event->signalled ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT;
	}
	return ZE_RESULT_SUCCESS;
}

static ze_result_t add(ze_command_list_handle_t list, const struct command *c)
{
	if (list->immediate)
		return execute(c);
	if (list->closed)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	if (list->n == list->room) {
		list->room = 2 * list->room + 8;
		list->commands = realloc(list->commands, list->room * sizeof(*list->commands));
	}
	list->commands[list->n++] = *c;
	return ZE_RESULT_SUCCESS;
}

/* Adds commands that wait for events, the command itself, and one that signals its event. */
static ze_result_t add_command(ze_command_list_handle_t list, const struct command *c, ze_event_handle_t event, uint32_t n,
			       ze_event_handle_t *wait)
{
	ze_result_t err = ZE_RESULT_SUCCESS;

	for (uint32_t i = 0; i < n && !err; i++)
		err = add(list, &(struct command){ .what = WAIT, .event = wait[i] });
	if (!err && c)
		err = add(list, c);
	if (!err && event)
		err = add(list, &(struct command){ .what = SIGNAL, .event = event });
	return err;
}

static ze_result_t ZE_APICALL create(ze_context_handle_t context, ze_device_handle_t device,
				     const ze_command_list_desc_t *desc, ze_command_list_handle_t *list)
{
	*list = calloc(1, sizeof(**list));
	(*list)->tables = fake_tables();
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL create_immediate(ze_context_handle_t context, ze_device_handle_t device,
					       const ze_command_queue_desc_t *desc, ze_command_list_handle_t *list)
{
	*list = calloc(1, sizeof(**list));
	(*list)->tables = fake_tables();
	(*list)->immediate = true;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL destroy(ze_command_list_handle_t list)
{
	free(list->commands);
	free(list);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL close_list(ze_command_list_handle_t list)
{
	list->closed = true;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL reset(ze_command_list_handle_t list)
{
	list->closed = false;
	list->n = 0;
	return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL fake_append(ze_command_list_handle_t list, ze_kernel_handle_t kernel, const ze_group_count_t *count,
				   ze_event_handle_t event, uint32_t n, ze_event_handle_t *wait)
{
	struct command c;

	if (fake_cl.idle)
		return ZE_RESULT_SUCCESS;
	c = (struct command){ .what = LAUNCH, .kernel = *kernel, .count = *count };
	return add_command(list, &c, event, n, wait);
}

static ze_result_t ZE_APICALL append_indirect(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
					      const ze_group_count_t *count, ze_event_handle_t event, uint32_t n,
					      ze_event_handle_t *wait)
{
	struct command c = { .what = LAUNCH, .kernel = *kernel, .indirect = count };

	return add_command(list, &c, event, n, wait);
}

static ze_result_t ZE_APICALL append_several(ze_command_list_handle_t list, uint32_t nkernels, ze_kernel_handle_t *kernels,
					     const uint32_t *most, const ze_group_count_t *counts, ze_event_handle_t event,
					     uint32_t n, ze_event_handle_t *wait)
{
	ze_result_t err = add_command(list, NULL, NULL, n, wait);

	for (uint32_t i = 0; i < nkernels && !err; i++)
		err = add(list, &(struct command){ .what = LAUNCH, .kernel = *kernels[i], .indirect = &counts[i],
						   .most = most, .number = i });
	return err ? err : add_command(list, NULL, event, 0, NULL);
}

static ze_result_t ZE_APICALL append_copy(ze_command_list_handle_t list, void *to, const void *from, size_t size,
					  ze_event_handle_t event, uint32_t n, ze_event_handle_t *wait)
{
	struct command c = { .what = COPY, .to = to, .from = from, .size = size };

	return add_command(list, &c, event, n, wait);
}

static ze_result_t ZE_APICALL append_fill(ze_command_list_handle_t list, void *to, const void *pattern, size_t npattern,
					  size_t size, ze_event_handle_t event, uint32_t n, ze_event_handle_t *wait)
{
	struct command c = { .what = FILL, .to = to, .size = size, .pattern = npattern };

	if (npattern > sizeof(c.fill))
		return ZE_RESULT_ERROR_INVALID_SIZE;
	memcpy(c.fill, pattern, npattern);
	return add_command(list, &c, event, n, wait);
}

static ze_result_t ZE_APICALL append_barrier(ze_command_list_handle_t list, ze_event_handle_t event, uint32_t n,
					     ze_event_handle_t *wait)
{
	return add_command(list, NULL, event, n, wait);
}

static ze_result_t ZE_APICALL append_signal(ze_command_list_handle_t list, ze_event_handle_t event)
{
	return add_command(list, NULL, event, 0, NULL);
}

static ze_result_t ZE_APICALL append_wait(ze_command_list_handle_t list, uint32_t n, ze_event_handle_t *wait)
{
	return add_command(list, NULL, NULL, n, wait);
}

static ze_result_t ZE_APICALL append_reset(ze_command_list_handle_t list, ze_event_handle_t event)
{
	return add(list, &(struct command){ .what = RESET, .event = event });
}

void fake_list_table(ze_command_list_dditable_t *t)
{
	*t = (ze_command_list_dditable_t){
		.pfnCreate = create, .pfnCreateImmediate = create_immediate, .pfnDestroy = destroy, .pfnClose = close_list,
		.pfnReset = reset, .pfnAppendLaunchKernel = fake_append, .pfnAppendLaunchCooperativeKernel = fake_append,
		.pfnAppendLaunchKernelIndirect = append_indirect, .pfnAppendLaunchMultipleKernelsIndirect = append_several,
		.pfnAppendMemoryCopy = append_copy, .pfnAppendMemoryFill = append_fill, .pfnAppendBarrier = append_barrier,
		.pfnAppendSignalEvent = append_signal, .pfnAppendWaitOnEvents = append_wait, .pfnAppendEventReset = append_reset,
	};
}

/* ---- queues ---- */

static ze_result_t ZE_APICALL queue_create(ze_context_handle_t context, ze_device_handle_t device,
					   const ze_command_queue_desc_t *desc, ze_command_queue_handle_t *queue)
{
	*queue = calloc(1, sizeof(**queue));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL queue_destroy(ze_command_queue_handle_t queue)
{
	free(queue);
	return ZE_RESULT_SUCCESS;
}

ze_result_t fake_execute(uint32_t n, ze_command_list_handle_t *lists)
{
	ze_result_t err = ZE_RESULT_SUCCESS;

	for (uint32_t i = 0; i < n && !err; i++) {
		if (!lists[i]->closed)
			return ZE_RESULT_ERROR_INVALID_ARGUMENT;
		for (uint32_t k = 0; k < lists[i]->n && !err; k++)
			err = execute(&lists[i]->commands[k]);
	}
	return err;
}

static ze_result_t ZE_APICALL queue_execute(ze_command_queue_handle_t queue, uint32_t n, ze_command_list_handle_t *lists,
					    ze_fence_handle_t fence)
{
	ze_result_t err = fake_execute(n, lists);

	if (!err && fence)
		fence->signalled = true;
	return err;
}

static ze_result_t ZE_APICALL queue_synchronize(ze_command_queue_handle_t queue, uint64_t timeout)
{
	return ZE_RESULT_SUCCESS;
}

void fake_queue_table(ze_command_queue_dditable_t *t)
{
	*t = (ze_command_queue_dditable_t){ .pfnCreate = queue_create, .pfnDestroy = queue_destroy,
					    .pfnExecuteCommandLists = queue_execute, .pfnSynchronize = queue_synchronize };
}
