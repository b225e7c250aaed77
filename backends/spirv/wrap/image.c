/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"

#include <errno.h>
#include <string.h>

#include "backends/spirv/common/options.h"
#include "core/diag.h"

void wrap_image_finish(struct wrap_image *p)
{
	if (p->owned)
		gpubpf_cl_parts_finish(&p->parts);
	gpubpf_pool_finish(&p->pool);
}

static int open_parts(struct wrap_image *p, const struct gpubpf_image *image, struct gpubpf_diag *diag)
{
	const char *options = image->options ? image->options : "";
	int err;

	if (image->kind == GPUBPF_IMAGE_OPENCL_C) {
		p->single = (struct gpubpf_cl_part){ GPUBPF_IMAGE_OPENCL_C, image->data, image->size, options,
						     image->headers, image->nheaders };
		p->parts = (struct gpubpf_cl_parts){ &p->single, 1, options };
		return 0;
	}
	if (image->kind != GPUBPF_IMAGE_OPENCL_PARTS)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "only OpenCL C source can be wrapped, and this image has none");
	err = gpubpf_cl_parts_read(image->data, image->size, &p->parts);
	p->owned = err == 0;
	if (err == -EBADMSG)
		gpubpf_diag_set(diag, GPUBPF_E_PROTOCOL, GPUBPF_NOPC, "the container of a linked program is damaged");
	return err;
}

/* NUL bytes end a source for OpenCL's compilers; so they do here. */
static int read_part(struct wrap_image *p, uint32_t i, const struct gpubpf_image *image, uint32_t places,
		     const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag)
{
	const struct gpubpf_cl_part *part = &p->parts.part[i];
	const char *text = gpubpf_pool_strndup(&p->pool, part->data, strnlen(part->data, part->size));

	if (!text)
		return -ENOMEM;
	p->source[i] = (struct gpubpf_cl_source){ text, strlen(text), part->options, image->cwd,
						  part->headers, part->nheaders,
						  places & (gpubpf_places_of(GPUBPF_WHERE_INSN) | gpubpf_places_of(GPUBPF_WHERE_FUNCTION)),
						  image->built_ns };
	return gpubpf_cl_read(&p->source[i], caps, &p->pool, &p->unit[i], diag);
}

int wrap_image_read(struct wrap_image *p, const struct gpubpf_image *image, uint32_t places,
		    const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag)
{
	int err = open_parts(p, image, diag);

	if (err < 0)
		return err;
	p->source = gpubpf_pool_alloc(&p->pool, p->parts.nparts, sizeof(*p->source));
	p->unit = gpubpf_pool_alloc(&p->pool, p->parts.nparts, sizeof(*p->unit));
	if (!p->source || !p->unit)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->parts.nparts && err == 0; i++) {
		if (p->parts.part[i].kind == GPUBPF_IMAGE_OPENCL_C)
			err = read_part(p, i, image, places, caps, diag);
		for (uint32_t k = 0; k < p->unit[i].nkernels; k++)
			p->globals |= p->unit[i].kernel[k].info.flags & GPUBPF_KINFO_GLOBALS;
	}
	return err;
}

const char *wrap_reason(const struct wrap_image *p, const struct gpubpf_cl_kernel *kernel,
			const struct gpubpf_device_caps *caps)
{
	const struct gpubpf_kernel_info *info = &kernel->info;

	if (info->reason[0])
		return info->reason;
	if (p->globals)
		return "its program has writable program-scope variables, which a twin would not share";
	if (!(caps->bits & GPUBPF_CAP_LINK))
		return "the device cannot link programs (clCompileProgram, clLinkProgram)";
	return kernel->no_wrapper ? kernel->no_wrapper : "";
}

bool wrap_loose_math(const struct wrap_image *p)
{
	for (uint32_t i = 0; i < p->parts.nparts; i++)
		if (gpubpf_cl_loose_math(p->parts.part[i].options))
			return true;
	return gpubpf_cl_loose_math(p->parts.link_options);
}

static const struct gpubpf_cl_kernel *find_kernel(const struct gpubpf_cl_unit *unit, const char *name)
{
	for (uint32_t k = 0; k < unit->nkernels; k++)
		if (!strcmp(unit->kernel[k].info.name, name))
			return &unit->kernel[k];
	return NULL;
}

const char *wrap_wrong(const struct gpubpf_cl_unit *unit, const struct gpubpf_cl_kernel *twin)
{
	const size_t prefix = strlen(GPUBPF_TWIN_PREFIX);
	const struct gpubpf_cl_kernel *of;

	if (strncmp(twin->name, GPUBPF_TWIN_PREFIX, prefix))
		return NULL;
	if (twin->info.reason[0])
		return twin->info.reason;
	of = find_kernel(unit, twin->name + prefix);
	return of && !of->error ? twin->error : NULL;
}
