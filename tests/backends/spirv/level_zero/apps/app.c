/* SPDX-License-Identifier: Apache-2.0 */
#include "app.h"

#include <stdbool.h>
#include <string.h>

ze_driver_handle_t app_driver;
ze_context_handle_t app_context;
ze_device_handle_t app_device;
ze_command_queue_handle_t app_queue;
ze_command_list_handle_t app_list, app_immediate;

static struct {
	ze_kernel_handle_t handle;
	char name[64];
	uint32_t group;
} kernels[64];
static uint32_t nkernels;

static struct {
	const char *name;
	uint64_t launches, items;
} ran[16];
static uint32_t nran;

static const char *folder = ".";
static bool compiles;

void app_check(ze_result_t err, const char *what, const char *file, int line)
{
	if (!err)
		return;
	fprintf(stderr, "%s:%d: %s: 0x%x\n", file, line, what, err);
	exit(1);
}

void app_open(int argc, char **argv)
{
	ze_context_desc_t context = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_command_queue_desc_t queue = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC };
	ze_command_list_desc_t list = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC };
	uint32_t one = 1;

	folder = argc > 1 ? argv[1] : folder;
	compiles = argc > 2 && !strcmp(argv[2], "compiles");
	CHECK(zeInit(0));
	CHECK(zeDriverGet(&one, &app_driver));
	one = 1;
	CHECK(zeDeviceGet(app_driver, &one, &app_device));
	CHECK(zeContextCreate(app_driver, &context, &app_context));
	CHECK(zeCommandQueueCreate(app_context, app_device, &queue, &app_queue));
	CHECK(zeCommandListCreate(app_context, app_device, &list, &app_list));
	queue.mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
	CHECK(zeCommandListCreateImmediate(app_context, app_device, &queue, &app_immediate));
}

void app_ran(const char *name, uint32_t launches, uint32_t items)
{
	uint32_t i = 0;

	while (i < nran && strcmp(ran[i].name, name))
		i++;
	if (i == nran)
		ran[nran++].name = strdup(name);
	ran[i].launches += launches;
	ran[i].items += (uint64_t)launches * items;
}

int app_close(void)
{
	for (uint32_t i = 0; i < nran; i++)
		printf("kernel %s launches %llu items %llu\n", ran[i].name, (unsigned long long)ran[i].launches,
		       (unsigned long long)ran[i].items);
	CHECK(zeCommandListDestroy(app_immediate));
	CHECK(zeCommandListDestroy(app_list));
	CHECK(zeCommandQueueDestroy(app_queue));
	CHECK(zeContextDestroy(app_context));
	return 0;
}

void *app_read(const char *name, size_t *size)
{
	char path[4096];
	void *data;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "rb");
	if (!f || fseek(f, 0, SEEK_END)) {
		perror(path);
		exit(1);
	}
	*size = ftell(f);
	rewind(f);
	data = malloc(*size);
	if (fread(data, 1, *size, f) != *size)
		exit(1);
	fclose(f);
	return data;
}

ze_module_handle_t app_module(const char *name, const char *flags, const ze_module_constants_t *constants)
{
	ze_module_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_IL_SPIRV,
				  .pBuildFlags = flags, .pConstants = constants };
	void *il = app_read(name, &desc.inputSize);
	ze_module_handle_t module;

	desc.pInputModule = il;
	CHECK(zeModuleCreate(app_context, app_device, &desc, &module, NULL));
	free(il);
	return module;
}

ze_kernel_handle_t app_kernel(ze_module_handle_t module, const char *name, uint32_t group)
{
	ze_kernel_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name };
	ze_kernel_handle_t kernel;

	CHECK(zeKernelCreate(module, &desc, &kernel));
	CHECK(zeKernelSetGroupSize(kernel, group, 1, 1));
	kernels[nkernels % 64].handle = kernel;
	kernels[nkernels % 64].group = group;
	snprintf(kernels[nkernels++ % 64].name, sizeof(kernels->name), "%s", name);
	return kernel;
}

void *app_alloc(enum app_memory kind, size_t size)
{
	ze_device_mem_alloc_desc_t device = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	ze_host_mem_alloc_desc_t host = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
	uint32_t *from = malloc(size);
	void *at;

	if (kind == APP_HOST)
		CHECK(zeMemAllocHost(app_context, &host, size, 64, &at));
	else if (kind == APP_SHARED)
		CHECK(zeMemAllocShared(app_context, &device, &host, size, 64, app_device, &at));
	else
		CHECK(zeMemAllocDevice(app_context, &device, size, 64, app_device, &at));
	for (uint32_t i = 0; i < size / 4; i++)
		from[i] = i;
	CHECK(zeCommandListAppendMemoryCopy(app_immediate, at, from, size, NULL, 0, NULL));
	free(from);
	return at;
}

void app_digest(const void *memory, size_t size)
{
	uint64_t digest = 14695981039346656037ull; /* FNV-1a */
	unsigned char *bytes = malloc(size);

	CHECK(zeCommandListAppendMemoryCopy(app_immediate, bytes, memory, size, NULL, 0, NULL));
	for (size_t i = 0; i < size && !compiles; i++)
		digest = (digest ^ bytes[i]) * 1099511628211ull;
	printf("%016llx\n", (unsigned long long)digest);
	free(bytes);
}

void app_pointer(ze_kernel_handle_t kernel, uint32_t index, const void *pointer)
{
	CHECK(zeKernelSetArgumentValue(kernel, index, sizeof(pointer), &pointer));
}

void app_u32(ze_kernel_handle_t kernel, uint32_t index, uint32_t value)
{
	CHECK(zeKernelSetArgumentValue(kernel, index, sizeof(value), &value));
}

void app_launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel, uint32_t groups)
{
	ze_group_count_t count = { groups, 1, 1 };

	CHECK(zeCommandListAppendLaunchKernel(list, kernel, &count, NULL, 0, NULL));
	for (uint32_t i = nkernels; i-- > 0;)
		if (kernels[i % 64].handle == kernel) {
			app_ran(kernels[i % 64].name, 1, groups * kernels[i % 64].group);
			return;
		}
}

void app_run(void)
{
	CHECK(zeCommandListClose(app_list));
	CHECK(zeCommandQueueExecuteCommandLists(app_queue, 1, &app_list, NULL));
	CHECK(zeCommandQueueSynchronize(app_queue, UINT64_MAX));
	CHECK(zeCommandListReset(app_list));
}
