/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches kernels with unique argument values, in one list that is executed once. Prints the kernel and the bytes of
 * each argument per launch, and last the process and the thread.
 */
#include "app.h"

#include <string.h>
#include <unistd.h>

enum { N = 256 };

/* Fills the bytes with values that no other argument has. */
static void fill(void *to, size_t size)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	for (size_t i = 0; i < size; i++) {
		state = state * 6364136223846793005 + 1442695040888963407; /* Knuth, MMIX */
		((unsigned char *)to)[i] = state >> 56 | 1;
	}
}

static void set(ze_kernel_handle_t kernel, uint32_t index, const void *value, size_t size)
{
	CHECK(zeKernelSetArgumentValue(kernel, index, size, value));
	putchar(' ');
	for (size_t i = 0; i < size; i++)
		printf("%02x", ((const unsigned char *)value)[i]);
}

int main(int argc, char **argv)
{
	struct {
		uint32_t number[7];
	} point;
	ze_kernel_handle_t scale, moves;
	ze_module_handle_t module;
	uint32_t factor, *data;
	float more[4], *to;

	app_open(argc, argv);
	module = app_module("kernels.spv", NULL, NULL);
	scale = app_kernel(module, "scale", 32);
	moves = app_kernel(module, "moves", 32);
	data = app_alloc(APP_DEVICE, N * 4);
	to = app_alloc(APP_HOST, N * 4);
	for (uint32_t i = 0; i < 4; i++) {
		fill(&factor, sizeof(factor));
		printf("given scale");
		set(scale, 0, &data, sizeof(data));
		set(scale, 1, &factor, sizeof(factor));
		putchar('\n');
		app_launch(app_list, scale, N / 32);
		fill(&point, sizeof(point));
		fill(more, sizeof(more));
		printf("given moves");
		set(moves, 0, &to, sizeof(to));
		set(moves, 1, &point, sizeof(point));
		set(moves, 2, more, sizeof(more));
		set(moves, 3, &data, sizeof(data));
		putchar('\n');
		app_launch(app_list, moves, N / 32);
	}
	printf("by %d %d\n", getpid(), gettid());
	app_run();
	CHECK(zeKernelDestroy(scale));
	CHECK(zeKernelDestroy(moves));
	CHECK(zeModuleDestroy(module));
	CHECK(zeMemFree(app_context, data));
	CHECK(zeMemFree(app_context, to));
	return app_close();
}
