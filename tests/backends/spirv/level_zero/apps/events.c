/* SPDX-License-Identifier: Apache-2.0 */
/* A chain of launches; each waits for an event and signals the next one. */
#include "app.h"

enum { N = 1024, LINKS = 8 };

int main(int argc, char **argv)
{
	ze_event_pool_desc_t pool_desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
					   .count = LINKS };
	ze_group_count_t count = { N / 64, 1, 1 };
	ze_event_handle_t events[LINKS];
	ze_event_pool_handle_t pool;
	ze_module_handle_t module;
	ze_kernel_handle_t scale;
	uint32_t *data;

	app_open(argc, argv);
	module = app_module("kernels.spv", NULL, NULL);
	scale = app_kernel(module, "scale", 64);
	data = app_alloc(APP_HOST, N * 4);
	CHECK(zeEventPoolCreate(app_context, &pool_desc, 1, &app_device, &pool));
	for (uint32_t i = 0; i < LINKS; i++) {
		ze_event_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = i };

		CHECK(zeEventCreate(pool, &desc, &events[i]));
	}
	app_pointer(scale, 0, data);
	for (uint32_t i = 0; i < LINKS; i++) {
		app_u32(scale, 1, i + 2);
		CHECK(zeCommandListAppendLaunchKernel(app_list, scale, &count, events[i], i, events));
		app_ran("scale", 1, N);
	}
	app_run();
	for (uint32_t i = 0; i < LINKS; i++)
		if (zeEventQueryStatus(events[i]) && argc < 3)
			return 1;
	app_digest(data, N * 4);
	for (uint32_t i = 0; i < LINKS; i++)
		CHECK(zeEventDestroy(events[i]));
	CHECK(zeEventPoolDestroy(pool));
	CHECK(zeKernelDestroy(scale));
	CHECK(zeModuleDestroy(module));
	CHECK(zeMemFree(app_context, data));
	return app_close();
}
