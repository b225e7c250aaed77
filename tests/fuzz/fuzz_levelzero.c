/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: hooks/levelzero/code.c hooks/levelzero/native.c backends/spirv/device/levelzero_module.c backends/spirv/wire/parts.c
// SOURCES: hooks/cache.c hooks/environ.c hooks/sha256.c core/wire/wire.c core/wire/name.c
// LIBS: -lpthread
/* Any bytes as what the agent finds beside native code in its cache, and as a twin that it is to load: taken or refused, and
 * what a driver would be given lies in memory. The first byte says which. */
#include <stdlib.h>
#include <string.h>

#include "hooks/levelzero/levelzero.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void *lz_table_find(enum lz_table table, const void *handle)
{
	return NULL;
}

static unsigned touch(const void *at, size_t size)
{
	unsigned sum = 0;

	for (size_t i = 0; i < size; i++)
		sum += ((const unsigned char *)at)[i];
	return sum;
}

static ze_result_t ZE_APICALL take(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *desc,
				   ze_module_handle_t *module, ze_module_build_log_handle_t *log)
{
	const ze_module_program_exp_desc_t *program = desc->pNext;
	static volatile unsigned sum;

	sum += touch(desc->pInputModule, desc->inputSize);
	for (uint32_t i = 0; program && i < program->count; i++)
		sum += touch(program->pInputModules[i], program->inputSizes[i]) + strlen(program->pBuildFlags[i]);
	return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
}

static void loaded(enum gpubpf_image_kind kind, const void *data, size_t size)
{
	const struct gpubpf_ze_api api = { .ModuleCreate = take };
	const struct gpubpf_ze_build build = { .flags = "" };
	ze_module_handle_t module;
	struct gpubpf_why why;

	if (!gpubpf_ze_module_load(&api, NULL, NULL, kind, data, size, &build, &module, &why))
		abort();
}

static void stored(const uint8_t *data, size_t size)
{
	struct lz_code *code = lz_native_parse(data, size);
	struct gpubpf_hook_image image = { 0 };

	if (!code)
		return;
	if (lz_code_image(code, &image) || image.kind != GPUBPF_IMAGE_SPIRV || image.size != code->parts[0].size)
		abort();
	for (uint32_t i = 0; code->parts[0].given && i < code->parts[0].given->numConstants; i++)
		touch(code->parts[0].given->pConstantValues[i], 8);
	free((void *)image.data);
	lz_code_free(code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum gpubpf_image_kind kinds[] = { GPUBPF_IMAGE_OPENCL_PARTS, GPUBPF_IMAGE_SPIRV, GPUBPF_IMAGE_PTX };

	if (!size)
		return 0;
	if (data[0] % 4 == 3)
		stored(data + 1, size - 1);
	else
		loaded(kinds[data[0] % 4], data + 1, size - 1);
	return 0;
}
