/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches each kernel of the modules in the folder once, without arguments. The driver compiles the kernels but does
 * not execute the launches. Prints for each module whether the driver accepts it.
 */
#include "app.h"

static void launch(ze_module_handle_t module, const char *name)
{
	ze_kernel_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name };
	ze_kernel_properties_t p = { .stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES };
	ze_kernel_handle_t kernel;

	CHECK(zeKernelCreate(module, &desc, &kernel));
	CHECK(zeKernelGetProperties(kernel, &p));
	if (!p.requiredGroupSizeX)
		p.requiredGroupSizeX = p.requiredGroupSizeY = p.requiredGroupSizeZ = 1;
	CHECK(zeKernelSetGroupSize(kernel, p.requiredGroupSizeX, p.requiredGroupSizeY, p.requiredGroupSizeZ));
	CHECK(zeCommandListAppendLaunchKernel(app_list, kernel, &(ze_group_count_t){ 1, 1, 1 }, NULL, 0, NULL));
	printf("kernel %s launches 1 items 1\n", name);
	app_run();
	CHECK(zeKernelDestroy(kernel));
}

static void try(const char *path)
{
	ze_module_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_IL_SPIRV };
	void *il = app_read(path, &desc.inputSize);
	ze_module_handle_t module;
	const char *names[256];
	uint32_t n = 0;

	desc.pInputModule = il;
	if (zeModuleCreate(app_context, app_device, &desc, &module, NULL)) {
		printf("refused %s\n", path);
	} else {
		CHECK(zeModuleGetKernelNames(module, &n, NULL));
		n = n < 256 ? n : 256;
		CHECK(zeModuleGetKernelNames(module, &n, names));
		for (uint32_t i = 0; i < n; i++)
			launch(module, names[i]);
		CHECK(zeModuleDestroy(module));
	}
	free(il);
}

int main(int argc, char **argv)
{
	app_open(2, argv);
	for (int i = 2; i < argc; i++)
		try(argv[i]);
	return app_close();
}
