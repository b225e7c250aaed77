/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records a list and then runs the command argv[2], which attaches programs. Records the list again and again until the
 * file argv[3] exists, and once more for the last four launches.
 */
#include "app.h"

#include <unistd.h>

enum { N = 256, MAX_ROUNDS = 6000, ROUND_US = 10000 };

static void record(ze_kernel_handle_t kernel)
{
	ze_group_count_t count = { N / 32, 1, 1 };

	CHECK(zeCommandListReset(app_list));
	CHECK(zeCommandListAppendLaunchKernel(app_list, kernel, &count, NULL, 0, NULL));
	CHECK(zeCommandListClose(app_list));
}

static void execute(int times)
{
	for (int i = 0; i < times; i++) {
		CHECK(zeCommandQueueExecuteCommandLists(app_queue, 1, &app_list, NULL));
		CHECK(zeCommandQueueSynchronize(app_queue, UINT64_MAX));
	}
}

int main(int argc, char **argv)
{
	ze_module_handle_t module;
	ze_kernel_handle_t scale;
	uint32_t *data;

	app_open(argc, argv);
	module = app_module("kernels.spv", NULL, NULL);
	scale = app_kernel(module, "scale", 32);
	data = app_alloc(APP_DEVICE, N * 4);
	app_pointer(scale, 0, data);
	app_u32(scale, 1, 3);
	record(scale);
	execute(2);
	if (argc > 2 && system(argv[2]))
		return 1;
	execute(3);
	for (int i = 0; argc > 3 && access(argv[3], F_OK) && i < MAX_ROUNDS; i++) {
		record(scale);
		execute(1);
		usleep(ROUND_US);
	}
	record(scale);
	execute(4);
	app_digest(data, N * 4);
	CHECK(zeKernelDestroy(scale));
	CHECK(zeModuleDestroy(module));
	CHECK(zeMemFree(app_context, data));
	return app_close();
}
