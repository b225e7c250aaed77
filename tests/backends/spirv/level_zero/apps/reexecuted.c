/* SPDX-License-Identifier: Apache-2.0 */
/* Executes a list several times, alone and with another one, resets it, and records it again. */
#include "app.h"

enum { N = 2048, TIMES = 7 };

static void append(ze_command_list_handle_t list, ze_kernel_handle_t kernel, uint32_t groups)
{
	ze_group_count_t count = { groups, 1, 1 };

	CHECK(zeCommandListAppendLaunchKernel(list, kernel, &count, NULL, 0, NULL));
}

int main(int argc, char **argv)
{
	ze_command_list_desc_t list_desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	ze_fence_desc_t fence_desc = { .stype = ZE_STRUCTURE_TYPE_FENCE_DESC };
	ze_command_list_handle_t lists[2];
	ze_module_handle_t module;
	ze_fence_handle_t fence;
	ze_kernel_handle_t scale;
	uint32_t *data;

	app_open(argc, argv);
	module = app_module("kernels.spv", NULL, NULL);
	scale = app_kernel(module, "scale", 64);
	data = app_alloc(APP_DEVICE, N * 4);
	app_pointer(scale, 0, data);
	CHECK(zeFenceCreate(app_queue, &fence_desc, &fence));
	for (int i = 0; i < 2; i++) {
		CHECK(zeCommandListCreate(app_context, app_device, &list_desc, &lists[i]));
		app_u32(scale, 1, 3 + i);
		append(lists[i], scale, N / 64);
		append(lists[i], scale, N / 64 / 2);
		CHECK(zeCommandListClose(lists[i]));
	}
	for (int i = 0; i < TIMES; i++) {
		CHECK(zeCommandQueueExecuteCommandLists(app_queue, 1 + i % 2, lists, fence));
		if (zeFenceHostSynchronize(fence, 2000000000) && argc < 3)
			return 1;
		CHECK(zeFenceReset(fence));
		app_ran("scale", 1 + i % 2, N);
		app_ran("scale", 1 + i % 2, N / 2);
	}
	app_digest(data, N * 4);
	CHECK(zeCommandListReset(lists[0]));
	app_u32(scale, 1, 11);
	append(lists[0], scale, N / 64);
	CHECK(zeCommandListClose(lists[0]));
	for (int i = 0; i < TIMES; i++)
		CHECK(zeCommandQueueExecuteCommandLists(app_queue, 2, lists, NULL));
	CHECK(zeCommandQueueSynchronize(app_queue, UINT64_MAX));
	app_ran("scale", 2 * TIMES, N);
	app_ran("scale", TIMES, N / 2);
	app_digest(data, N * 4);
	CHECK(zeFenceDestroy(fence));
	CHECK(zeCommandListDestroy(lists[0]));
	CHECK(zeCommandListDestroy(lists[1]));
	CHECK(zeKernelDestroy(scale));
	CHECK(zeModuleDestroy(module));
	CHECK(zeMemFree(app_context, data));
	return app_close();
}
