/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports the native code of a module and loads this code instead of the IL, like programs that have their own cache.
 */
#include "app.h"

enum { N = 1024 };

static void run(ze_module_handle_t module)
{
	ze_kernel_handle_t scale = app_kernel(module, "scale", 64);
	uint32_t *data = app_alloc(APP_DEVICE, N * 4);

	app_pointer(scale, 0, data);
	app_u32(scale, 1, 17);
	app_launch(app_immediate, scale, N / 64);
	app_digest(data, N * 4);
	CHECK(zeKernelDestroy(scale));
	CHECK(zeMemFree(app_context, data));
}

int main(int argc, char **argv)
{
	ze_module_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_NATIVE };
	ze_module_handle_t module, again;
	uint8_t *native;

	app_open(argc, argv);
	module = app_module("kernels.spv", NULL, NULL);
	run(module);
	CHECK(zeModuleGetNativeBinary(module, &desc.inputSize, NULL));
	native = malloc(desc.inputSize);
	CHECK(zeModuleGetNativeBinary(module, &desc.inputSize, native));
	CHECK(zeModuleDestroy(module));
	desc.pInputModule = native;
	CHECK(zeModuleCreate(app_context, app_device, &desc, &again, NULL));
	free(native);
	run(again);
	CHECK(zeModuleDestroy(again));
	return app_close();
}
