/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel that calls a function of another module. They are linked by zeModuleDynamicLink(), and as two parts of one
 * module.
 */
#include "app.h"

enum { N = 1024 };

static void run(ze_module_handle_t module)
{
	ze_kernel_handle_t uses = app_kernel(module, "uses", 64);
	uint32_t *data = app_alloc(APP_DEVICE, N * 4);

	app_pointer(uses, 0, data);
	for (uint32_t i = 0; i < 5; i++) {
		app_u32(uses, 1, i);
		app_launch(app_immediate, uses, N / 64);
	}
	app_digest(data, N * 4);
	CHECK(zeKernelDestroy(uses));
	CHECK(zeMemFree(app_context, data));
}

static void run_parts(void)
{
	size_t sizes[2];
	const uint8_t *modules[] = { app_read("library.spv", &sizes[0]), app_read("user.spv", &sizes[1]) };
	ze_module_program_exp_desc_t program = { .stype = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC, .count = 2,
						 .inputSizes = sizes, .pInputModules = modules };
	ze_module_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .pNext = &program,
				  .format = ZE_MODULE_FORMAT_IL_SPIRV };
	ze_module_handle_t module;

	CHECK(zeModuleCreate(app_context, app_device, &desc, &module, NULL));
	run(module);
	CHECK(zeModuleDestroy(module));
	free((void *)modules[0]);
	free((void *)modules[1]);
}

int main(int argc, char **argv)
{
	ze_module_handle_t modules[2];

	app_open(argc, argv);
	modules[0] = app_module("user.spv", NULL, NULL);
	modules[1] = app_module("library.spv", "-library-compilation", NULL);
	CHECK(zeModuleDynamicLink(2, modules, NULL));
	run(modules[0]);
	CHECK(zeModuleDestroy(modules[0]));
	CHECK(zeModuleDestroy(modules[1]));
	run_parts();
	return app_close();
}
