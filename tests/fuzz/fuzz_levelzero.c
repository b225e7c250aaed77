/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: hooks/level_zero/code.c hooks/level_zero/native.c backends/spirv/device/level_zero/module.c backends/spirv/wire/parts.c backends/spirv/wire/clock.c
// SOURCES: hooks/client/cache.c core/wire/files/blob_store.c hooks/process/environ.c core/wire/files/sha256.c core/wire/wire.c core/wire/name.c
// LIBS: -lpthread
/*
 * Passes arbitrary bytes to the agent's Level Zero code: as cached native code, as a twin to load, and as an
 * application's module. The module has flags, specialization constants and optional parts. The agent must accept or
 * refuse the bytes, and must pass only valid memory to the driver. The first byte selects the parser.
 */
#include <stdlib.h>
#include <string.h>

#include "hooks/level_zero/level_zero.h"
#include "hooks/process/agent_thread.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct gpubpf_records lz_modules;

void *gpubpf_records_find(struct gpubpf_records *records, const void *handle)
{
	return NULL;
}

void gpubpf_run_on_agent_thread(void (*work)(void *arg), void *arg)
{
	work(arg);
}

static unsigned touch(const void *at, size_t size)
{
	unsigned sum = 0;

	for (size_t i = 0; i < size; i++)
		sum += ((const unsigned char *)at)[i];
	return sum;
}

static ze_result_t ZE_APICALL create_module(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *desc,
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
	const struct gpubpf_ze_api api = { .ModuleCreate = create_module };
	const struct gpubpf_ze_build build = { .nparts = 0 };
	ze_module_handle_t module;
	struct gpubpf_reason why;

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
	for (uint32_t i = 0; code->parts[0].constants_or_null && i < code->parts[0].constants_or_null->numConstants; i++)
		touch(code->parts[0].constants_or_null->pConstantValues[i], 8);
	free((void *)image.data);
	free((void *)image.options);
	lz_code_free(code);
}

#define PARTS 3

/* Copy the application's data to separate memory of the exact size, so that ASan detects reads past its end. */
static void *copy_exact(const uint8_t **data, size_t *size, size_t want)
{
	size_t n = want < *size ? want : *size;
	void *to = malloc(n + !n);

	memcpy(to, *data, n);
	*data += n;
	*size -= n;
	return to;
}

static void created(const uint8_t *data, size_t size)
{
	size_t left = size - 2, nflags = data[1] % 64 < left ? data[1] % 64 : left, sizes[PARTS];
	const uint8_t *bytes = data + 2 + nflags, *il[PARTS];
	char *text = strndup((const char *)data + 2, nflags);
	const void *values[8];
	uint32_t ids[8] = { 0 };
	const ze_module_constants_t constants = { data[0] % 9, ids, values }, *of[PARTS] = { &constants, NULL };
	const char *given[PARTS] = { text, NULL, text };
	ze_module_program_exp_desc_t program = { .stype = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC, .count = PARTS,
						 .inputSizes = sizes, .pInputModules = il, .pBuildFlags = given,
						 .pConstants = of };
	ze_module_desc_t desc = { .pNext = data[0] & 16 ? &program : NULL, .pBuildFlags = text, .pConstants = &constants };
	struct gpubpf_hook_image image = { 0 };
	struct lz_code *code;

	left -= nflags;
	for (size_t i = 0; i < 8; i++)
		values[i] = memcpy(aligned_alloc(8, 8), &(uint64_t){ i * size }, 8);
	for (size_t i = 0; i < PARTS; i++) {
		sizes[i] = i + 1 < PARTS ? left / 2 : left;
		il[i] = copy_exact(&bytes, &left, sizes[i]);
	}
	desc.pInputModule = il[0];
	desc.inputSize = sizes[0];
	code = lz_code_new(&desc);
	if (!code || lz_code_image(code, &image) || code->nparts != (desc.pNext ? PARTS : 1) ||
	    strcmp(code->parts[0].flags, text) || (desc.pNext && (code->parts[1].flags[0] || strcmp(code->parts[2].flags, text))) ||
	    memcmp(code->parts[0].data, il[0], sizes[0]) ||
	    (constants.numConstants && memcmp(code->parts[0].constants_or_null->pConstantValues[0], values[0], 8)))
		abort();
	loaded(image.kind, image.data, image.size);
	free((void *)image.data);
	free((void *)image.options);
	lz_code_free(code);
	for (size_t i = 0; i < 8; i++)
		free((void *)values[i]);
	for (size_t i = 0; i < PARTS; i++)
		free((void *)il[i]);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum gpubpf_image_kind kinds[] = { GPUBPF_IMAGE_OPENCL_PARTS, GPUBPF_IMAGE_SPIRV, GPUBPF_IMAGE_PTX };

	if (!size)
		return 0;
	if (data[0] % 5 == 3)
		stored(data + 1, size - 1);
	else if (data[0] % 5 == 4 && size > 2)
		created(data + 1, size - 1);
	else if (data[0] % 5 < 3)
		loaded(kinds[data[0] % 5], data + 1, size - 1);
	return 0;
}
