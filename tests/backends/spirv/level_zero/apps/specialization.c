/* SPDX-License-Identifier: Apache-2.0 */
/* Specialization constants of each size: the program sets none, some, or all of them. */
#include "app.h"

enum { N = 1024 };

static void run(const ze_module_constants_t *constants)
{
	ze_module_handle_t module = app_module("specialization.spv", NULL, constants);
	ze_kernel_handle_t special = app_kernel(module, "special", 32);
	void *sums = app_alloc(APP_DEVICE, N * 8), *scaled = app_alloc(APP_DEVICE, N * 4);

	app_pointer(special, 0, sums);
	app_pointer(special, 1, scaled);
	app_launch(app_immediate, special, N / 32);
	app_digest(sums, N * 8);
	app_digest(scaled, N * 4);
	CHECK(zeKernelDestroy(special));
	CHECK(zeModuleDestroy(module));
	CHECK(zeMemFree(app_context, sums));
	CHECK(zeMemFree(app_context, scaled));
}

int main(int argc, char **argv)
{
	uint32_t by = 1000, ids[] = { 0, 3, 1, 2, 4, 5 };
	uint8_t yes = 1, small = 200;
	uint16_t middle = 60000;
	uint64_t large = 0x123456789abcdef0;
	float scale = 1.25f;
	const void *values[] = { &by, &middle, &yes, &small, &large, &scale };
	ze_module_constants_t some = { 2, ids, values }, all = { 6, ids, values };

	app_open(argc, argv);
	run(NULL);
	run(&some);
	run(&all);
	return app_close();
}
