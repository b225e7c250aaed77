/* SPDX-License-Identifier: Apache-2.0 */
/* Launches on every device and subdevice, in two contexts each. */
#include "app.h"

enum { N = 512, MAX = 8 };

static void run(ze_device_handle_t device)
{
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_context_handle_t before = app_context;
	ze_device_handle_t first = app_device;
	ze_command_list_handle_t list = app_immediate;
	ze_command_queue_desc_t queue = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
					  .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS };
	ze_kernel_handle_t scale;
	ze_module_handle_t module;
	uint32_t *data;

	CHECK(zeContextCreate(app_driver, &desc, &app_context));
	app_device = device;
	CHECK(zeCommandListCreateImmediate(app_context, device, &queue, &app_immediate));
	module = app_module("kernels.spv", NULL, NULL);
	scale = app_kernel(module, "scale", 32);
	data = app_alloc(APP_DEVICE, N * 4);
	app_pointer(scale, 0, data);
	app_u32(scale, 1, 5);
	app_launch(app_immediate, scale, N / 32);
	app_launch(app_immediate, scale, N / 32);
	app_digest(data, N * 4);
	CHECK(zeKernelDestroy(scale));
	CHECK(zeModuleDestroy(module));
	CHECK(zeMemFree(app_context, data));
	CHECK(zeCommandListDestroy(app_immediate));
	CHECK(zeContextDestroy(app_context));
	app_context = before;
	app_device = first;
	app_immediate = list;
}

int main(int argc, char **argv)
{
	ze_device_handle_t devices[MAX], parts[MAX];
	uint32_t n = 0, nparts;

	app_open(argc, argv);
	CHECK(zeDeviceGet(app_driver, &n, NULL));
	CHECK(zeDeviceGet(app_driver, &n, devices));
	for (uint32_t i = 0; i < n; i++) {
		run(devices[i]);
		run(devices[i]);
		nparts = 0;
		CHECK(zeDeviceGetSubDevices(devices[i], &nparts, NULL));
		if (nparts)
			CHECK(zeDeviceGetSubDevices(devices[i], &nparts, parts));
		for (uint32_t k = 0; k < nparts; k++)
			run(parts[k]);
	}
	return app_close();
}
