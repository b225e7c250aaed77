/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches groups of three dimensions, also of the size that the driver suggests, and with a global offset if the
 * driver supports that.
 */
#include "app.h"

enum { N = 16 };

int main(int argc, char **argv)
{
	ze_group_count_t count = { N / 4, N / 2, N / 8 };
	ze_module_handle_t module;
	ze_kernel_handle_t places;
	uint32_t group[3];
	uint64_t *out;

	app_open(argc, argv);
	module = app_module("kernels.spv", NULL, NULL);
	places = app_kernel(module, "places", 1);
	out = app_alloc(APP_DEVICE, 8 * N * N * N * 8);
	app_pointer(places, 0, out);
	app_u32(places, 1, 2 * N);
	CHECK(zeKernelSetGroupSize(places, 4, 2, 8));
	CHECK(zeCommandListAppendLaunchKernel(app_list, places, &count, NULL, 0, NULL));
	CHECK(zeKernelSuggestGroupSize(places, N, N, N, &group[0], &group[1], &group[2]));
	CHECK(zeKernelSetGroupSize(places, group[0], group[1], group[2]));
	count = (ze_group_count_t){ N / group[0], N / group[1], N / group[2] };
	CHECK(zeKernelSetGlobalOffsetExp(places, N, 0, N));
	CHECK(zeCommandListAppendLaunchKernel(app_list, places, &count, NULL, 0, NULL));
	app_ran("places", 2, N * N * N);
	app_run();
	if (argc < 3) /* with argv[2] the results are not compared: the driver may suggest another group size */
		app_digest(out, 8 * N * N * N * 8);
	CHECK(zeKernelDestroy(places));
	CHECK(zeModuleDestroy(module));
	CHECK(zeMemFree(app_context, out));
	return app_close();
}
