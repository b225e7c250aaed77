/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lists and queues. Each execution of a regular command list counts the launches that are recorded in it. A
 * launch counts as probed if its twin was recorded. The agent keeps records of queues so that it can wait for them.
 */
#include "level_zero.h"

#include <errno.h>
#include <stdlib.h>

GPUBPF_RECORDS(lz_lists)
static GPUBPF_RECORDS(lz_queues)

	struct queue {
	struct gpubpf_record object;
	struct lz_driver *driver;
	ze_context_handle_t context;
};

/* Create the record of a new command list. If this fails, launches in the list run unprobed. */
static void add_list(ze_command_list_handle_t handle, const struct lz_list *as)
{
	struct lz_list *list = lz_active() ? calloc(1, sizeof(*list)) : NULL;

	if (!list)
		return;
	*list = *as;
	gpubpf_records_add(&lz_lists, handle, &list->object);
}

static void free_records(struct lz_list *list)
{
	for (uint32_t i = 0; i < list->n; i++)
		free(list->records[i]);
	list->n = 0;
}

void lz_list_add(struct lz_list *list, struct gpubpf_hook_record *record)
{
	struct gpubpf_hook_record **records = list->records;

	if (record && list->n == list->room) {
		records = realloc(records, (2 * list->room + 8) * sizeof(*records));
		if (records) {
			list->records = records;
			list->room = 2 * list->room + 8;
		}
	}
	if (record && records)
		list->records[list->n++] = record;
	else
		free(record); /* out of memory: executions of this recorded launch are not counted */
}

ze_result_t lz_CommandListCreate(struct lz_driver *d, ze_context_handle_t context, ze_device_handle_t device,
				 const ze_command_list_desc_t *desc, ze_command_list_handle_t *list)
{
	ze_result_t err = LZ_HOST_CALL(GRAPH, CommandList, Create, LZ_ARGUMENTS(context, device, desc, list));

	if (!err)
		add_list(*list, &(struct lz_list){ .driver = d,
						   .context = context,
						   .device = device,
						   .ordinal = desc->commandQueueGroupOrdinal });
	return err;
}

ze_result_t lz_CommandListCreateImmediate(struct lz_driver *d, ze_context_handle_t context, ze_device_handle_t device,
					  const ze_command_queue_desc_t *desc, ze_command_list_handle_t *list)
{
	ze_result_t err = LZ_HOST_CALL(STREAM, CommandList, CreateImmediate, LZ_ARGUMENTS(context, device, desc, list));

	if (!err)
		add_list(*list, &(struct lz_list){ .driver = d,
						   .context = context,
						   .device = device,
						   .ordinal = desc->ordinal,
						   .immediate = true,
						   .waits = desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS });
	return err;
}

ze_result_t lz_CommandListDestroy(struct lz_driver *d, ze_command_list_handle_t handle)
{
	struct lz_list *list = gpubpf_records_release(&lz_lists, handle);
	bool is_immediate = list && list->immediate;

	if (list) {
		if (list->scratch_list)
			d->next.CommandListDestroy(list->scratch_list);
		free_records(list);
		free(list->records);
		free(list);
	}
	return is_immediate ? LZ_HOST_CALL(STREAM, CommandList, Destroy, handle, .stream = (uintptr_t)handle) :
			      LZ_HOST_CALL(GRAPH, CommandList, Destroy, handle, .stream = (uintptr_t)handle);
}

ze_result_t lz_CommandListReset(struct lz_driver *d, ze_command_list_handle_t handle)
{
	ze_result_t err = LZ_HOST_CALL(GRAPH, CommandList, Reset, LZ_ARGUMENTS(handle), .stream = (uintptr_t)handle);
	struct lz_list *list = err ? NULL : gpubpf_records_find(&lz_lists, handle);

	if (list)
		free_records(list);
	return err;
}

ze_result_t lz_CommandQueueCreate(struct lz_driver *d, ze_context_handle_t context, ze_device_handle_t device,
				  const ze_command_queue_desc_t *desc, ze_command_queue_handle_t *queue)
{
	ze_result_t err = LZ_HOST_CALL(STREAM, CommandQueue, Create, LZ_ARGUMENTS(context, device, desc, queue));
	struct queue *q = !err && lz_active() ? calloc(1, sizeof(*q)) : NULL;

	if (q) {
		q->driver = d;
		q->context = context;
		gpubpf_records_add(&lz_queues, *queue, &q->object);
	}
	return err;
}

ze_result_t lz_CommandQueueDestroy(struct lz_driver *d, ze_command_queue_handle_t queue)
{
	/* blocks on the table's lock until no thread synchronizes with the queue any more */
	free(gpubpf_records_release(&lz_queues, queue));
	return LZ_HOST_CALL(STREAM, CommandQueue, Destroy, LZ_ARGUMENTS(queue), .stream = (uintptr_t)queue);
}

static ze_result_t count_executed(ze_result_t err, uint32_t n, const ze_command_list_handle_t *lists)
{
	for (uint32_t i = 0; !err && i < n; i++) {
		struct lz_list *list = gpubpf_records_find(&lz_lists, lists[i]);

		for (uint32_t k = 0; list && k < list->n; k++)
			gpubpf_hook_record_launched(list->records[k]);
	}
	return err;
}

ze_result_t lz_CommandQueueExecuteCommandLists(struct lz_driver *d, ze_command_queue_handle_t queue, uint32_t n,
					       ze_command_list_handle_t *lists, ze_fence_handle_t fence)
{
	ze_result_t err = LZ_HOST_CALL(GRAPH, CommandQueue, ExecuteCommandLists, LZ_ARGUMENTS(queue, n, lists, fence),
				       .stream = (uintptr_t)queue);

	return count_executed(err, n, lists);
}

ze_result_t lz_CommandListExpImmediateAppendCommandListsExp(struct lz_driver *d, ze_command_list_handle_t list, uint32_t n,
							    ze_command_list_handle_t *lists, ze_event_handle_t event,
							    uint32_t nwait, ze_event_handle_t *wait)
{
	ze_result_t err =
		GPUBPF_HOST_CALL(ze_result_t,
				 d->next.CommandListExpImmediateAppendCommandListsExp(list, n, lists, event, nwait, wait),
				 result, .event = GPUBPF_HOST_GRAPH,
				 .function = "zeCommandListImmediateAppendCommandListsExp", .stream = (uintptr_t)list);

	return count_executed(err, n, lists);
}

ze_result_t lz_CommandListImmediateAppendCommandListsWithParameters(struct lz_driver *d, ze_command_list_handle_t list,
								    uint32_t n, ze_command_list_handle_t *lists,
								    const void *more, ze_event_handle_t event,
								    uint32_t nwait, ze_event_handle_t *wait)
{
	ze_result_t err = LZ_HOST_CALL(GRAPH, CommandList, ImmediateAppendCommandListsWithParameters,
				       LZ_ARGUMENTS(list, n, lists, more, event, nwait, wait), .stream = (uintptr_t)list);

	return count_executed(err, n, lists);
}

ze_result_t lz_CommandListExpCreateCloneExp(struct lz_driver *d, ze_command_list_handle_t handle,
					    ze_command_list_handle_t *clone)
{
	ze_result_t err = d->next.CommandListExpCreateCloneExp(handle, clone);
	struct lz_list *from = err ? NULL : gpubpf_records_find(&lz_lists, handle), *to;

	if (!from)
		return err;
	add_list(*clone, &(struct lz_list){
				 .driver = d, .context = from->context, .device = from->device, .ordinal = from->ordinal });
	to = gpubpf_records_find(&lz_lists, *clone);
	for (uint32_t i = 0; to && i < from->n; i++)
		lz_list_add(to, gpubpf_hook_record_copy(from->records[i]));
	return err;
}

bool lz_list_can_be_waited_for(const struct lz_list *list)
{
	return !list->immediate || list->waits || list->driver->next.CommandListHostSynchronize;
}

struct waiting {
	ze_context_handle_t context;
	uint64_t timeout_ns;
	bool late;
};

static void wait_for_queue(struct gpubpf_record *object, void *arg)
{
	struct queue *q = (struct queue *)object;
	struct waiting *w = arg;

	if (q->context == w->context && !w->late)
		w->late = q->driver->next.CommandQueueSynchronize((ze_command_queue_handle_t)object->handle,
								  w->timeout_ns) == ZE_RESULT_NOT_READY;
}

static void wait_for_list(struct gpubpf_record *object, void *arg)
{
	struct lz_list *list = (struct lz_list *)object;
	struct waiting *w = arg;

	if (list->context == w->context && list->immediate && list->driver->next.CommandListHostSynchronize && !w->late)
		w->late = list->driver->next.CommandListHostSynchronize((ze_command_list_handle_t)object->handle,
									w->timeout_ns) == ZE_RESULT_NOT_READY;
}

int lz_queues_wait(ze_context_handle_t context, uint32_t timeout_ms)
{
	struct waiting w = { context, timeout_ms * 1000000ull, false };

	gpubpf_records_each(&lz_queues, wait_for_queue, &w);
	gpubpf_records_each(&lz_lists, wait_for_list, &w);
	return w.late ? -ETIMEDOUT : 0;
}
