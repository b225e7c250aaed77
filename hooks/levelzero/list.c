/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lists. A launch that is recorded in a regular one is counted each time the list is executed, as what it was
 * when it was recorded. Queues are known so that they can be waited for.
 */
#include "levelzero.h"

#include <errno.h>
#include <stdlib.h>

struct queue {
	struct lz_object object;
	struct lz_driver *driver;
	ze_context_handle_t context;
};

static void add_list(ze_command_list_handle_t handle, bool immediate)
{
	struct lz_list *list = lz_active() ? calloc(1, sizeof(*list)) : NULL;

	if (!list)
		return; /* what is launched there runs as it is */
	list->immediate = immediate;
	lz_table_add(LZ_LISTS, handle, &list->object);
}

static void empty(struct lz_list *list)
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
		free(record); /* out of memory: its launches are not counted */
}

ze_result_t lz_CommandListCreate(struct lz_driver *d, ze_context_handle_t context, ze_device_handle_t device,
				 const ze_command_list_desc_t *desc, ze_command_list_handle_t *list)
{
	ze_result_t err = d->next.CommandListCreate(context, device, desc, list);

	if (!err)
		add_list(*list, false);
	return err;
}

ze_result_t lz_CommandListCreateImmediate(struct lz_driver *d, ze_context_handle_t context, ze_device_handle_t device,
					  const ze_command_queue_desc_t *desc, ze_command_list_handle_t *list)
{
	ze_result_t err = d->next.CommandListCreateImmediate(context, device, desc, list);

	if (!err)
		add_list(*list, true);
	return err;
}

ze_result_t lz_CommandListDestroy(struct lz_driver *d, ze_command_list_handle_t handle)
{
	struct lz_list *list = lz_table_take(LZ_LISTS, handle);

	if (list) {
		empty(list);
		free(list->records);
		free(list);
	}
	return d->next.CommandListDestroy(handle);
}

ze_result_t lz_CommandListReset(struct lz_driver *d, ze_command_list_handle_t handle)
{
	ze_result_t err = d->next.CommandListReset(handle);
	struct lz_list *list = err ? NULL : lz_table_find(LZ_LISTS, handle);

	if (list)
		empty(list);
	return err;
}

ze_result_t lz_CommandQueueCreate(struct lz_driver *d, ze_context_handle_t context, ze_device_handle_t device,
				  const ze_command_queue_desc_t *desc, ze_command_queue_handle_t *queue)
{
	ze_result_t err = d->next.CommandQueueCreate(context, device, desc, queue);
	struct queue *q = !err && lz_active() ? calloc(1, sizeof(*q)) : NULL;

	if (q) {
		q->driver = d;
		q->context = context;
		lz_table_add(LZ_QUEUES, *queue, &q->object);
	}
	return err;
}

ze_result_t lz_CommandQueueDestroy(struct lz_driver *d, ze_command_queue_handle_t queue)
{
	free(lz_table_take(LZ_QUEUES, queue)); /* waits for who waits for it */
	return d->next.CommandQueueDestroy(queue);
}

ze_result_t lz_CommandQueueExecuteCommandLists(struct lz_driver *d, ze_command_queue_handle_t queue, uint32_t n,
					       ze_command_list_handle_t *lists, ze_fence_handle_t fence)
{
	ze_result_t err = d->next.CommandQueueExecuteCommandLists(queue, n, lists, fence);

	for (uint32_t i = 0; !err && i < n; i++) {
		struct lz_list *list = lz_table_find(LZ_LISTS, lists[i]);

		for (uint32_t k = 0; list && k < list->n; k++)
			gpubpf_hook_record_launched(list->records[k]);
	}
	return err;
}

struct waiting {
	ze_context_handle_t context;
	uint64_t timeout_ns;
	bool late;
};

static void wait_for(struct lz_object *object, void *arg)
{
	struct queue *q = (struct queue *)object;
	struct waiting *w = arg;

	if (q->context == w->context && !w->late)
		w->late = q->driver->next.CommandQueueSynchronize((ze_command_queue_handle_t)object->handle, w->timeout_ns) ==
			  ZE_RESULT_NOT_READY;
}

int lz_queues_wait(ze_context_handle_t context, uint32_t timeout_ms)
{
	struct waiting w = { context, timeout_ms * 1000000ull, false };

	lz_table_each(LZ_QUEUES, wait_for, &w);
	return w.late ? -ETIMEDOUT : 0;
}
