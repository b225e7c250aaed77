/* SPDX-License-Identifier: Apache-2.0 */
#include "level_zero.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/spirv/wire/clock.h"
#include "backends/spirv/wire/parts.h"

int gpubpf_ze_error(struct gpubpf_reason *why, const char *what, ze_result_t code)
{
	snprintf(why->text, sizeof(why->text), "%s failed with Level Zero error 0x%x", what, code);
	return code == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY || code == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY ? -ENOMEM : -EIO;
}

/* Copy the start of the build log to why->text, as one line. */
static int report_build_log(const struct gpubpf_ze_api *api, ze_module_build_log_handle_t log, ze_result_t code,
			    struct gpubpf_reason *why)
{
	size_t size = 0;
	char *text;
	int n;

	if (log && !api->ModuleBuildLogGetString(log, &size, NULL) && size > 1 && (text = calloc(1, size + 1))) {
		api->ModuleBuildLogGetString(log, &size, text);
		n = snprintf(why->text, sizeof(why->text), "building failed (0x%x): %s", code, text);
		for (int i = 0; i < n && i < (int)sizeof(why->text) && why->text[i]; i++)
			if (why->text[i] == '\n')
				why->text[i] = ' ';
		free(text);
		return -EIO;
	}
	return gpubpf_ze_error(why, "building", code);
}

static int create(const struct gpubpf_ze_api *api, ze_context_handle_t context, ze_device_handle_t device,
		  const ze_module_desc_t *desc, ze_module_handle_t *module, struct gpubpf_reason *why)
{
	ze_module_build_log_handle_t log = NULL;
	ze_result_t err = api->ModuleCreate(context, device, desc, module, &log);
	int ret = err ? report_build_log(api, log, err, why) : 0;

	if (log)
		api->ModuleBuildLogDestroy(log);
	return ret;
}

static const char *flags_of(const struct gpubpf_ze_build *build, uint32_t part)
{
	return build->nparts ? build->flags[part < build->nparts ? part : 0] : "";
}

static int create_linked(const struct gpubpf_ze_api *api, ze_context_handle_t context, ze_device_handle_t device,
			 const struct gpubpf_cl_parts *parts, const struct gpubpf_ze_build *build,
			 ze_module_handle_t *module, struct gpubpf_reason *why)
{
	uint32_t n = parts->nparts;
	size_t *sizes = calloc(n + 1, sizeof(*sizes));
	const uint8_t **modules = calloc(n + 1, sizeof(*modules));
	const char **flags = calloc(n + 1, sizeof(*flags));
	const ze_module_constants_t **constants = calloc(n + 1, sizeof(*constants));
	ze_module_program_exp_desc_t program = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC,
		.count = n,
		.inputSizes = sizes,
		.pInputModules = modules,
		.pBuildFlags = flags,
		.pConstants = constants,
	};
	ze_module_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.pNext = &program,
		.format = ZE_MODULE_FORMAT_IL_SPIRV,
	};
	int err = sizes && modules && flags && constants ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < n; i++) {
		if (parts->part[i].kind != GPUBPF_IMAGE_SPIRV)
			err = -EPROTO;
		sizes[i] = parts->part[i].size;
		modules[i] = parts->part[i].data;
		flags[i] = flags_of(build, i);
		constants[i] = i < build->nparts ? build->constants[i] : NULL;
	}
	if (!err)
		err = create(api, context, device, &desc, module, why);
	free(sizes);
	free(modules);
	free(flags);
	free(constants);
	return err;
}

/* Create a module from the image, which imports gpubpf_clock_read(), and a second module that defines this function. */
static int create_with_clock(const struct gpubpf_ze_api *api, ze_context_handle_t context, ze_device_handle_t device,
			     const void *image, size_t size, const struct gpubpf_ze_build *build,
			     ze_module_handle_t *module, struct gpubpf_reason *why)
{
	struct gpubpf_cl_part part[] = { { .kind = GPUBPF_IMAGE_SPIRV, .data = image, .size = size },
					 { .kind = GPUBPF_IMAGE_SPIRV } };
	struct gpubpf_cl_parts parts = { .part = part, .nparts = 2 };

	part[1].data = gpubpf_spv_clock(&part[1].size);
	return create_linked(api, context, device, &parts, build, module, why);
}

int gpubpf_ze_module_load(const struct gpubpf_ze_api *api, ze_context_handle_t context, ze_device_handle_t device,
			  enum gpubpf_image_kind kind, const void *image, size_t size,
			  const struct gpubpf_ze_build *build, ze_module_handle_t *module, struct gpubpf_reason *why)
{
	ze_module_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = ZE_MODULE_FORMAT_IL_SPIRV,
		.inputSize = size,
		.pInputModule = image,
		.pBuildFlags = flags_of(build, 0),
		.pConstants = build->nparts ? build->constants[0] : NULL,
	};
	struct gpubpf_cl_parts parts;
	int err;

	if (kind == GPUBPF_IMAGE_SPIRV && gpubpf_spv_reads_clock(image, size))
		return create_with_clock(api, context, device, image, size, build, module, why);
	if (kind == GPUBPF_IMAGE_SPIRV)
		return create(api, context, device, &desc, module, why);
	if (kind != GPUBPF_IMAGE_OPENCL_PARTS) {
		snprintf(why->text, sizeof(why->text), "a Level Zero device loads only SPIR-V");
		return -EINVAL;
	}
	err = gpubpf_cl_parts_read(image, size, &parts);
	if (err < 0)
		return err;
	err = create_linked(api, context, device, &parts, build, module, why);
	gpubpf_cl_parts_finish(&parts);
	return err;
}
