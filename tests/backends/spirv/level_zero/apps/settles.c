/* SPDX-License-Identifier: Apache-2.0 */
/* Launches a kernel until its numbers no longer change. Zeros separate the numbers into rooms (see examples/early). */
#include "app.h"

enum { N = 2048, ROUNDS = 40 };

int main(int argc, char **argv)
{
	ze_module_handle_t module;
	ze_kernel_handle_t relax;
	uint32_t numbers[N], *buffers[2];

	app_open(argc, argv);
	module = app_module("kernels.spv", NULL, NULL);
	relax = app_kernel(module, "relax", 64);
	for (uint32_t i = 0, at = 0; i < N; i++) { /* the first room has 8 decreasing numbers, the last room 24 */
		numbers[i] = at ? N - at : 0;
		at = at < 8 + i / 128 ? at + 1 : 0;
	}
	for (int i = 0; i < 2; i++) {
		buffers[i] = app_alloc(APP_DEVICE, sizeof(numbers));
		CHECK(zeCommandListAppendMemoryCopy(app_immediate, buffers[i], numbers, sizeof(numbers), NULL, 0, NULL));
	}
	app_u32(relax, 2, N);
	for (int round = 0; round < ROUNDS; round++) {
		app_pointer(relax, 0, buffers[round % 2]);
		app_pointer(relax, 1, buffers[!(round % 2)]);
		app_launch(app_immediate, relax, N / 64);
	}
	app_digest(buffers[ROUNDS % 2], sizeof(numbers));
	CHECK(zeKernelDestroy(relax));
	CHECK(zeModuleDestroy(module));
	CHECK(zeMemFree(app_context, buffers[0]));
	CHECK(zeMemFree(app_context, buffers[1]));
	return app_close();
}
