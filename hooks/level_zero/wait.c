/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intercepts calls in which the application waits for the device. After such a call device memory can be copied back.
 */
#include "level_zero.h"

static ze_result_t after_wait(ze_result_t err)
{
	if (!err)
		gpubpf_hook_device_synced();
	return err;
}

ze_result_t lz_CommandQueueSynchronize(struct lz_driver *d, ze_command_queue_handle_t queue, uint64_t timeout)
{
	return after_wait(LZ_HOST_CALL(SYNC, CommandQueue, Synchronize, LZ_ARGUMENTS(queue, timeout),
				       .stream = (uintptr_t)queue));
}

ze_result_t lz_CommandListHostSynchronize(struct lz_driver *d, ze_command_list_handle_t list, uint64_t timeout)
{
	return after_wait(LZ_HOST_CALL(SYNC, CommandList, HostSynchronize, LZ_ARGUMENTS(list, timeout),
				       .stream = (uintptr_t)list));
}

ze_result_t lz_FenceHostSynchronize(struct lz_driver *d, ze_fence_handle_t fence, uint64_t timeout)
{
	return after_wait(LZ_HOST_CALL(SYNC, Fence, HostSynchronize, LZ_ARGUMENTS(fence, timeout)));
}

ze_result_t lz_EventHostSynchronize(struct lz_driver *d, ze_event_handle_t event, uint64_t timeout)
{
	return after_wait(LZ_HOST_CALL(SYNC, Event, HostSynchronize, LZ_ARGUMENTS(event, timeout)));
}
