/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An application with the loader's tracing layer. The layer must see the application's launches with the application's
 * kernels, not with twins.
 */
#include <level_zero/layers/zel_tracing_api.h>

#include "app.h"

enum { N = 1024, TIMES = 6 };

static ze_kernel_handle_t mine;
static int launches, others, modules;

static void launched(ze_command_list_append_launch_kernel_params_t *p, ze_result_t err, void *unused, void **data)
{
	launches += !err;
	others += *p->phKernel != mine;
}

static void created(ze_module_create_params_t *p, ze_result_t err, void *unused, void **data)
{
	modules++;
}

static zel_tracer_handle_t trace(void)
{
	zel_tracer_desc_t desc = { .stype = ZEL_STRUCTURE_TYPE_TRACER_EXP_DESC };
	ze_callbacks_t callbacks = { .Module.pfnCreateCb = created, .CommandList.pfnAppendLaunchKernelCb = launched };
	zel_tracer_handle_t tracer;

	CHECK(zelTracerCreate(&desc, &tracer));
	CHECK(zelTracerSetEpilogues(tracer, &callbacks));
	CHECK(zelTracerSetEnabled(tracer, 1));
	return tracer;
}

int main(int argc, char **argv)
{
	zel_tracer_handle_t tracer;
	ze_module_handle_t module;
	uint32_t *data;

	setenv("ZE_ENABLE_TRACING_LAYER", "1", 1);
	app_open(argc, argv);
	tracer = trace();
	module = app_module("kernels.spv", NULL, NULL);
	mine = app_kernel(module, "scale", 64);
	data = app_alloc(APP_SHARED, N * 4);
	app_pointer(mine, 0, data);
	app_u32(mine, 1, 5);
	for (int i = 0; i < TIMES; i++)
		app_launch(i % 2 ? app_list : app_immediate, mine, N / 64);
	app_run();
	app_digest(data, N * 4);
	printf("traced: %d modules, %d launches, %d of other kernels\n", modules, launches, others);
	CHECK(zelTracerSetEnabled(tracer, 0));
	CHECK(zelTracerDestroy(tracer));
	CHECK(zeKernelDestroy(mine));
	CHECK(zeModuleDestroy(module));
	CHECK(zeMemFree(app_context, data));
	return app_close();
}
