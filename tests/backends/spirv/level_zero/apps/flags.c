/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build flags that change results: denormal numbers are halved, or flushed to zero. The flags belong to a module, to
 * one of two parts of a module, or to native code, which is loaded without flags. Other flags relax arithmetic; with
 * "relaxed" only these are tested.
 */
#include "app.h"

#include <string.h>

#define ZEROS "-cl-denorms-are-zero"

enum { N = 1024 };

static void run(ze_module_handle_t module)
{
	ze_kernel_handle_t halves = app_kernel(module, "halves", 64);
	void *in = app_alloc(APP_DEVICE, N * 4), *out = app_alloc(APP_DEVICE, N * 4);

	app_pointer(halves, 0, in);
	app_pointer(halves, 1, out);
	app_launch(app_immediate, halves, N / 64);
	app_digest(out, N * 4);
	CHECK(zeKernelDestroy(halves));
	CHECK(zeModuleDestroy(module));
	CHECK(zeMemFree(app_context, in));
	CHECK(zeMemFree(app_context, out));
}

static ze_module_handle_t in_parts(const char *first, const char *second)
{
	size_t sizes[2];
	const uint8_t *modules[] = { app_read("library.spv", &sizes[0]), app_read("kernels.spv", &sizes[1]) };
	const char *flags[] = { first, second };
	ze_module_program_exp_desc_t program = { .stype = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC, .count = 2,
						 .inputSizes = sizes, .pInputModules = modules, .pBuildFlags = flags };
	ze_module_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .pNext = &program,
				  .format = ZE_MODULE_FORMAT_IL_SPIRV };
	ze_module_handle_t module;

	CHECK(zeModuleCreate(app_context, app_device, &desc, &module, NULL));
	free((void *)modules[0]);
	free((void *)modules[1]);
	return module;
}

static ze_module_handle_t from_native(ze_module_handle_t module)
{
	ze_module_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_NATIVE };
	ze_module_handle_t again;
	uint8_t *native;

	CHECK(zeModuleGetNativeBinary(module, &desc.inputSize, NULL));
	native = malloc(desc.inputSize);
	CHECK(zeModuleGetNativeBinary(module, &desc.inputSize, native));
	CHECK(zeModuleDestroy(module));
	desc.pInputModule = native;
	CHECK(zeModuleCreate(app_context, app_device, &desc, &again, NULL));
	free(native);
	return again;
}

int main(int argc, char **argv)
{
	app_open(argc, argv);
	run(app_module("kernels.spv", "-cl-fast-relaxed-math", NULL));
	if (argc > 2 && !strcmp(argv[2], "relaxed"))
		return app_close();
	run(app_module("kernels.spv", NULL, NULL));
	run(app_module("kernels.spv", ZEROS, NULL));
	run(app_module("kernels.spv", "-ze-opt-disable " ZEROS, NULL));
	run(in_parts("-ze-opt-disable", ""));
	run(in_parts("", ZEROS));
	run(from_native(app_module("kernels.spv", ZEROS, NULL)));
	return app_close();
}
