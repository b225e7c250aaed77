/* SPDX-License-Identifier: Apache-2.0 */
/* Makes cooperative launches with as many groups as fit the device at once, and with fewer groups. */
#include "app.h"

int main(int argc, char **argv)
{
	ze_module_handle_t module;
	ze_kernel_handle_t totals;
	uint32_t *in, *out, most = 0;

	app_open(argc, argv);
	module = app_module("kernels.spv", NULL, NULL);
	totals = app_kernel(module, "totals", 16);
	CHECK(zeKernelSuggestMaxCooperativeGroupCount(totals, &most));
	if (most > 8)
		most = 8;
	in = app_alloc(APP_DEVICE, most * 16 * 4);
	out = app_alloc(APP_DEVICE, most * 4);
	app_pointer(totals, 0, in);
	app_pointer(totals, 1, out);
	CHECK(zeKernelSetArgumentValue(totals, 2, 16 * 4, NULL));
	for (uint32_t i = 1; i <= most; i++) {
		ze_group_count_t count = { i, 1, 1 };

		CHECK(zeCommandListAppendLaunchCooperativeKernel(app_list, totals, &count, NULL, 0, NULL));
		app_ran("totals", 1, i * 16);
	}
	app_run();
	app_digest(out, most * 4);
	CHECK(zeKernelDestroy(totals));
	CHECK(zeModuleDestroy(module));
	CHECK(zeMemFree(app_context, in));
	CHECK(zeMemFree(app_context, out));
	return app_close();
}
