/* SPDX-License-Identifier: Apache-2.0 */
/* Queries about modules and kernels must have the same answers before and after a launch. */
#include "app.h"

#include <string.h>

enum { N = 1024 };

static void query(ze_module_handle_t module, ze_kernel_handle_t kernel)
{
	ze_kernel_properties_t p = { .stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES };
	uint32_t n = 0, x, y, z, most;
	const char *names[64];
	size_t size = 64;
	char name[64];

	CHECK(zeModuleGetKernelNames(module, &n, NULL));
	CHECK(zeModuleGetKernelNames(module, &n, names));
	for (uint32_t i = 0; i < n; i++)
		printf("%s%s", names[i], i + 1 < n ? ", " : ": ");
	CHECK(zeKernelGetName(kernel, &size, name));
	CHECK(zeKernelGetProperties(kernel, &p));
	CHECK(zeKernelSuggestGroupSize(kernel, N, 1, 1, &x, &y, &z));
	CHECK(zeKernelSuggestMaxCooperativeGroupCount(kernel, &most));
	CHECK(zeModuleGetNativeBinary(module, &size, NULL));
	printf("%s (%zu) has %u arguments, %u bytes of local memory, groups of %u, %u at once, native %zu\n", name, strlen(name),
	       p.numKernelArgs, p.localMemSize, x, most, size);
}

int main(int argc, char **argv)
{
	ze_module_handle_t module;
	ze_kernel_handle_t scale;
	uint32_t *data;

	app_open(argc, argv);
	module = app_module("kernels.spv", NULL, NULL);
	scale = app_kernel(module, "scale", 64);
	query(module, scale);
	data = app_alloc(APP_HOST, N * 4);
	app_pointer(scale, 0, data);
	app_u32(scale, 1, 3);
	app_launch(app_immediate, scale, N / 64);
	app_digest(data, N * 4);
	query(module, scale);
	CHECK(zeKernelDestroy(scale));
	CHECK(zeModuleDestroy(module));
	CHECK(zeMemFree(app_context, data));
	return app_close();
}
