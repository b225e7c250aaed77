/* SPDX-License-Identifier: Apache-2.0 */
/* Executes one regular list with several kernels, whose arguments change between launches. */
#include "app.h"

int main(int argc, char **argv)
{
	enum { N = 4096 };
	ze_module_handle_t module;
	ze_kernel_handle_t scale, add;
	uint32_t *a, *b, *sum;

	app_open(argc, argv);
	module = app_module("kernels.spv", NULL, NULL);
	scale = app_kernel(module, "scale", 64);
	add = app_kernel(module, "add", 32);
	a = app_alloc(APP_DEVICE, N * 4);
	b = app_alloc(APP_DEVICE, N * 4);
	sum = app_alloc(APP_DEVICE, N * 4);
	for (uint32_t i = 0; i < 20; i++) {
		app_pointer(scale, 0, i & 1 ? a : b);
		app_u32(scale, 1, i + 3);
		app_launch(app_list, scale, N / 64);
		CHECK(zeCommandListAppendBarrier(app_list, NULL, 0, NULL));
	}
	app_pointer(add, 0, a);
	app_pointer(add, 1, b);
	app_pointer(add, 2, sum);
	app_launch(app_list, add, N / 32);
	app_run();
	app_digest(sum, N * 4);
	CHECK(zeKernelDestroy(scale));
	CHECK(zeKernelDestroy(add));
	CHECK(zeModuleDestroy(module));
	CHECK(zeMemFree(app_context, a));
	CHECK(zeMemFree(app_context, b));
	CHECK(zeMemFree(app_context, sum));
	return app_close();
}
