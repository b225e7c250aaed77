/* SPDX-License-Identifier: Apache-2.0 */
/* Launches whose number of groups is in device memory: one kernel, and several kernels by one call. */
#include "app.h"

enum { N = 1024, KERNELS = 3 };

int main(int argc, char **argv)
{
	ze_kernel_handle_t scale, kernels[KERNELS];
	ze_module_handle_t module;
	ze_group_count_t *counts;
	uint32_t *data, *most;

	app_open(argc, argv);
	module = app_module("kernels.spv", NULL, NULL);
	scale = app_kernel(module, "scale", 32);
	data = app_alloc(APP_SHARED, N * 4);
	counts = app_alloc(APP_HOST, KERNELS * sizeof(*counts));
	most = app_alloc(APP_HOST, 64);
	most[0] = KERNELS;
	app_pointer(scale, 0, data);
	app_u32(scale, 1, 9);
	for (uint32_t i = 0; i < KERNELS; i++) {
		counts[i] = (ze_group_count_t){ N / 32 - i, 1, 1 };
		kernels[i] = app_kernel(module, "scale", 32);
		app_pointer(kernels[i], 0, data);
		app_u32(kernels[i], 1, 20 + i);
	}
	for (uint32_t i = 0; i < 4; i++) {
		CHECK(zeCommandListAppendLaunchKernelIndirect(app_list, scale, &counts[i % KERNELS], NULL, 0, NULL));
		app_ran("scale", 1, N - 32 * (i % KERNELS));
	}
	CHECK(zeCommandListAppendLaunchMultipleKernelsIndirect(app_list, KERNELS, kernels, most, counts, NULL, 0, NULL));
	app_run();
	CHECK(zeCommandListAppendLaunchMultipleKernelsIndirect(app_immediate, KERNELS, kernels, most, counts, NULL, 0, NULL));
	for (uint32_t i = 0; i < KERNELS; i++)
		app_ran("scale", 2, N - 32 * i);
	app_digest(data, N * 4);
	for (uint32_t i = 0; i < KERNELS; i++)
		CHECK(zeKernelDestroy(kernels[i]));
	CHECK(zeKernelDestroy(scale));
	CHECK(zeModuleDestroy(module));
	CHECK(zeMemFree(app_context, data));
	CHECK(zeMemFree(app_context, counts));
	CHECK(zeMemFree(app_context, most));
	return app_close();
}
