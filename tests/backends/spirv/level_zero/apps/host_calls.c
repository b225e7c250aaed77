/* SPDX-License-Identifier: Apache-2.0 */
/* Makes calls of each section host/ to the Level Zero driver. */
#include "app.h"

enum { N = 64 };

static void use_events(void)
{
	ze_event_pool_desc_t pool_desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
					   .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
					   .count = 1 };
	ze_event_desc_t event_desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };
	ze_event_pool_handle_t pool;
	ze_event_handle_t event;

	CHECK(zeEventPoolCreate(app_context, &pool_desc, 1, &app_device, &pool));
	CHECK(zeEventCreate(pool, &event_desc, &event));
	CHECK(zeEventHostSignal(event));
	CHECK(zeEventHostSynchronize(event, 2000000000));
	CHECK(zeEventHostReset(event));
	CHECK(zeEventDestroy(event));
	CHECK(zeEventPoolDestroy(pool));
}

int main(int argc, char **argv)
{
	uint32_t *data, *copy;
	ze_module_handle_t module;
	ze_kernel_handle_t scale;
	void *host;

	app_open(argc, argv);
	module = app_module("kernels.spv", NULL, NULL);
	data = app_alloc(APP_SHARED, N * 4);
	copy = app_alloc(APP_SHARED, N * 4);
	CHECK(zeMemAllocHost(app_context, &(ze_host_mem_alloc_desc_t){ .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC },
			     4096, 64, &host));
	scale = app_kernel(module, "scale", 32);
	app_pointer(scale, 0, data);
	app_u32(scale, 1, 3);
	for (int i = 0; i < 3; i++)
		app_launch(app_immediate, scale, N / 32);
	app_launch(app_list, scale, N / 32);
	CHECK(zeCommandListAppendBarrier(app_list, NULL, 0, NULL));
	CHECK(zeCommandListAppendMemoryCopy(app_list, copy, data, N * 4, NULL, 0, NULL));
	app_run();
	app_digest(copy, N * 4);
	use_events();
	CHECK(zeKernelDestroy(scale));
	CHECK(zeModuleDestroy(module));
	CHECK(zeMemFree(app_context, host));
	CHECK(zeMemFree(app_context, copy));
	CHECK(zeMemFree(app_context, data));
	return app_close();
}
