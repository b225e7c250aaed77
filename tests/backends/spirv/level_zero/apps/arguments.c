/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes arguments of all kinds: structs by value, vectors, local memory, null pointers. Some arguments are set only
 * once.
 */
#include "app.h"

enum { N = 512 };

int main(int argc, char **argv)
{
	struct {
		float x, y;
		uint32_t weight[5];
	} by = { 1.5f, 2.25f, { 1, 2, 3, 4, 5 } };
	float more[4] = { 1, 2, 3, 4 };
	ze_kernel_handle_t moves, totals;
	ze_module_handle_t module;
	uint32_t *in, *out;
	ze_group_count_t count = { 1, 1, 1 };
	float *to;

	app_open(argc, argv);
	module = app_module("kernels.spv", NULL, NULL);
	moves = app_kernel(module, "moves", 32);
	totals = app_kernel(module, "totals", 64);
	to = app_alloc(APP_DEVICE, N * 4);
	in = app_alloc(APP_DEVICE, N * 4);
	out = app_alloc(APP_DEVICE, N * 4);
	app_pointer(moves, 0, to);
	CHECK(zeKernelSetArgumentValue(moves, 2, sizeof(more), more));
	for (int i = 0; i < 4; i++) {
		by.y += i;
		CHECK(zeKernelSetArgumentValue(moves, 1, sizeof(by), &by));
		CHECK(zeKernelSetArgumentValue(moves, 3, sizeof(in), i & 1 ? &in : NULL));
		app_launch(app_immediate, moves, N / 32);
		app_digest(to, N * 4);
	}
	app_pointer(totals, 0, in);
	app_pointer(totals, 1, out);
	for (uint32_t group = 8; group <= 64; group *= 2) {
		CHECK(zeKernelSetGroupSize(totals, group, 1, 1));
		CHECK(zeKernelSetArgumentValue(totals, 2, group * 4, NULL));
		count.groupCountX = N / group;
		CHECK(zeCommandListAppendLaunchKernel(app_immediate, totals, &count, NULL, 0, NULL));
		app_ran("totals", 1, N);
		app_digest(out, N * 4);
	}
	CHECK(zeKernelDestroy(moves));
	CHECK(zeKernelDestroy(totals));
	CHECK(zeModuleDestroy(module));
	CHECK(zeMemFree(app_context, to));
	CHECK(zeMemFree(app_context, in));
	CHECK(zeMemFree(app_context, out));
	return app_close();
}
