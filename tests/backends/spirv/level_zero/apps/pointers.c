/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels reach memory of each kind through pointers in memory (zeKernelSetIndirectAccess), then only through
 * arguments. Another kernel takes a pointer as a number.
 */
#include "app.h"

enum { N = 128, NODES = 9 };

struct list {
	struct list *next;
	uint32_t value;
};

int main(int argc, char **argv)
{
	ze_module_handle_t module;
	ze_kernel_handle_t walk, scale;
	struct list *nodes[NODES];
	uint32_t *out, *beyond, *numbers;

	app_open(argc, argv);
	module = app_module("kernels.spv", NULL, NULL);
	walk = app_kernel(module, "walk", 16);
	CHECK(zeKernelSetIndirectAccess(walk, ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST | ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED |
					      ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE));
	CHECK(zeKernelSetCacheConfig(walk, ZE_CACHE_CONFIG_FLAG_LARGE_DATA));
	out = app_alloc(APP_SHARED, N * 4);
	for (int i = 0; i < NODES; i++)
		nodes[i] = app_alloc(i % 3, sizeof(*nodes[i]));
	for (int i = 0; i < NODES; i++) {
		struct list node = { i + 1 < NODES ? nodes[i + 1] : NULL, 100 + i };

		CHECK(zeCommandListAppendMemoryCopy(app_immediate, nodes[i], &node, sizeof(node), NULL, 0, NULL));
	}
	app_pointer(walk, 0, nodes[0]);
	app_pointer(walk, 1, out);
	for (int i = 0; i < 3; i++)
		app_launch(i & 1 ? app_immediate : app_list, walk, N / 16);
	app_run();
	app_digest(out, N * 4);
	CHECK(zeKernelSetIndirectAccess(walk, 0));
	app_pointer(walk, 0, nodes[NODES - 1]);
	app_launch(app_immediate, walk, N / 16);
	app_digest(out, N * 4);
	scale = app_kernel(module, "scale", 64);
	beyond = app_alloc(APP_DEVICE, 4096);
	numbers = app_alloc(APP_DEVICE, N * 4);
	CHECK(zeCommandListAppendMemoryCopy(app_immediate, numbers, &(uint32_t *){ beyond + 777 }, sizeof(beyond), NULL, 0, NULL));
	app_pointer(scale, 0, numbers);
	app_u32(scale, 1, 3);
	app_launch(app_immediate, scale, N / 64);
	app_digest(numbers + 2, N * 4 - 8);
	for (int i = 0; i < NODES; i++)
		CHECK(zeMemFree(app_context, nodes[i]));
	CHECK(zeMemFree(app_context, out));
	CHECK(zeMemFree(app_context, beyond));
	CHECK(zeMemFree(app_context, numbers));
	CHECK(zeKernelDestroy(scale));
	CHECK(zeKernelDestroy(walk));
	CHECK(zeModuleDestroy(module));
	return app_close();
}
