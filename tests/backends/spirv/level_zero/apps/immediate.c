/* SPDX-License-Identifier: Apache-2.0 */
/* Uses only immediate lists, one of them asynchronous, and creates a kernel for each launch. */
#include "app.h"

int main(int argc, char **argv)
{
	enum { N = 1024, TIMES = 12 };
	ze_event_pool_desc_t pool_desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
					   .count = 1 };
	ze_event_desc_t event_desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };
	ze_command_queue_desc_t queue = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
					  .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS };
	ze_group_count_t count = { N / 32, 1, 1 };
	ze_command_list_handle_t later;
	ze_event_pool_handle_t pool;
	ze_event_handle_t event;
	ze_module_handle_t module;
	uint32_t *data;

	app_open(argc, argv);
	module = app_module("kernels.spv", "-ze-opt-disable", NULL);
	data = app_alloc(APP_SHARED, N * 4);
	CHECK(zeCommandListCreateImmediate(app_context, app_device, &queue, &later));
	CHECK(zeEventPoolCreate(app_context, &pool_desc, 1, &app_device, &pool));
	CHECK(zeEventCreate(pool, &event_desc, &event));
	for (uint32_t i = 0; i < TIMES; i++) {
		ze_kernel_handle_t scale = app_kernel(module, "scale", 32);

		app_pointer(scale, 0, data);
		app_u32(scale, 1, i + 5);
		app_launch(app_immediate, scale, N / 32);
		app_u32(scale, 1, i + 6);
		CHECK(zeCommandListAppendLaunchKernel(later, scale, &count, event, 0, NULL));
		app_ran("scale", 1, N);
		if (zeEventHostSynchronize(event, 2000000000) && argc < 3)
			return 1;
		CHECK(zeEventHostReset(event));
		CHECK(zeKernelDestroy(scale));
	}
	app_digest(data, N * 4);
	CHECK(zeEventDestroy(event));
	CHECK(zeEventPoolDestroy(pool));
	CHECK(zeCommandListDestroy(later));
	CHECK(zeModuleDestroy(module));
	CHECK(zeMemFree(app_context, data));
	return app_close();
}
