/* SPDX-License-Identifier: Apache-2.0 */
/* Launches a kernel that accesses memory of each address space, and executes atomics in many lanes. */
#include "app.h"

enum { N = 512, BINS = 16 };

int main(int argc, char **argv)
{
	ze_module_handle_t module;
	ze_kernel_handle_t inside;
	uint32_t *in, *bins;

	app_open(argc, argv);
	module = app_module("inside.spv", NULL, NULL);
	inside = app_kernel(module, "inside", 32);
	in = app_alloc(APP_DEVICE, N * 4);
	bins = app_alloc(APP_SHARED, BINS * 4);
	app_pointer(inside, 0, in);
	app_pointer(inside, 1, bins);
	app_u32(inside, 2, BINS);
	app_launch(app_immediate, inside, N / 32);
	app_launch(app_list, inside, N / 32);
	app_run();
	app_digest(bins, BINS * 4);
	CHECK(zeKernelDestroy(inside));
	CHECK(zeModuleDestroy(module));
	CHECK(zeMemFree(app_context, in));
	CHECK(zeMemFree(app_context, bins));
	return app_close();
}
