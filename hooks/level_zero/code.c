/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs of a module: IL, build flags and values of specialization constants. Twins are built with the same flags
 * and values.
 */
#include "level_zero.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/spirv/wire/parts.h"

#define CONSTANT_SIZE 8 /* bytes of the widest type; the driver reads the bytes of the constant's own type */

static void free_constants(ze_module_constants_t *c)
{
	if (c->pConstantValues)
		free((void *)c->pConstantValues[0]);
	free(c->pConstantValues);
	free((void *)c->pConstantIds);
}

/*
 * Copy a constant's value. The API does not pass the value's size. Near the end of a page, read only up to the end of
 * the page, since the next page may be unmapped. Do not use memcpy(), because a sanitizer in the application may
 * intercept it.
 */
static void copy_value(unsigned char to[CONSTANT_SIZE], const void *value)
{
	size_t left = 4096 - ((uintptr_t)value & 4095);
	const volatile unsigned char *from = value;

	for (size_t i = 0; i < CONSTANT_SIZE && i < left; i++)
		to[i] = from[i];
}

static bool copy_constants(ze_module_constants_t *to, const ze_module_constants_t *from)
{
	uint32_t n = from->numConstants, *ids = calloc(n + 1, sizeof(*ids));
	const void **values = calloc(n + 1, sizeof(*values));
	unsigned char *bytes = calloc(n + 1, CONSTANT_SIZE);

	*to = (ze_module_constants_t){ n, ids, values };
	if (!ids || !values || !bytes) {
		free(bytes);
		return false;
	}
	values[0] = bytes;
	for (uint32_t i = 0; i < n; i++) {
		ids[i] = from->pConstantIds[i];
		values[i] = bytes + i * CONSTANT_SIZE;
		copy_value(bytes + i * CONSTANT_SIZE, from->pConstantValues[i]);
	}
	return true;
}

static bool copy_part(struct lz_part *to, const void *data, size_t size, const char *flags,
		      const ze_module_constants_t *constants)
{
	to->data = malloc(size + 1);
	to->size = size;
	to->flags = strdup(flags ? flags : "");
	if (!to->data || !to->flags)
		return false;
	memcpy(to->data, data, size);
	if (!constants || !constants->numConstants)
		return true;
	if (!copy_constants(&to->constants, constants))
		return false;
	to->constants_or_null = &to->constants;
	return true;
}

void lz_code_free(struct lz_code *code)
{
	if (!code)
		return;
	for (uint32_t i = 0; code->parts && i < code->nparts; i++) {
		free(code->parts[i].data);
		free(code->parts[i].flags);
		free_constants(&code->parts[i].constants);
	}
	free(code->parts);
	free(code);
}

static const ze_module_program_exp_desc_t *program_of(const ze_module_desc_t *desc)
{
	const ze_base_desc_t *next = desc->pNext;

	while (next && next->stype != ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC)
		next = next->pNext;
	return (const ze_module_program_exp_desc_t *)next;
}

struct lz_code *lz_code_new(const ze_module_desc_t *desc)
{
	const ze_module_program_exp_desc_t *program = program_of(desc);
	struct lz_code *code = calloc(1, sizeof(*code));
	bool whole;

	if (!code)
		return NULL;
	code->nparts = program ? program->count : 1;
	code->parts = calloc(code->nparts + 1, sizeof(*code->parts));
	whole = code->parts;
	for (uint32_t i = 0; whole && program && i < program->count; i++)
		whole = copy_part(&code->parts[i], program->pInputModules[i], program->inputSizes[i],
				  program->pBuildFlags ? program->pBuildFlags[i] : NULL,
				  program->pConstants ? program->pConstants[i] : NULL);
	if (whole && !program)
		whole = copy_part(&code->parts[0], desc->pInputModule, desc->inputSize, desc->pBuildFlags,
				  desc->pConstants);
	if (whole)
		return code;
	lz_code_free(code);
	return NULL;
}

static int parts_image(const struct lz_code *code, struct gpubpf_hook_image *image)
{
	struct gpubpf_cl_parts parts = { .part = calloc(code->nparts + 1, sizeof(*parts.part)),
					 .nparts = code->nparts,
					 .link_options = "" };
	struct gpubpf_blob blob;
	int err = -ENOMEM;

	for (uint32_t i = 0; parts.part && i < code->nparts; i++)
		parts.part[i] = (struct gpubpf_cl_part){ GPUBPF_IMAGE_SPIRV, code->parts[i].data, code->parts[i].size,
							 code->parts[i].flags };
	if (parts.part)
		err = gpubpf_cl_parts_write(&parts, &blob);
	free(parts.part);
	if (err < 0)
		return err;
	image->kind = GPUBPF_IMAGE_OPENCL_PARTS;
	image->data = blob.data;
	image->size = blob.size;
	return 0;
}

int lz_code_image(const struct lz_code *code, struct gpubpf_hook_image *image)
{
	const struct lz_part *part = code->parts;
	char *options;
	void *copy;

	if (code->nparts != 1)
		return parts_image(code, image);
	copy = malloc(part->size + 1);
	options = strdup(part->flags);
	if (!copy || !options) {
		free(copy);
		free(options);
		return -ENOMEM;
	}
	image->kind = GPUBPF_IMAGE_SPIRV;
	image->data = memcpy(copy, part->data, part->size);
	image->size = part->size;
	image->options = options;
	return 0;
}
