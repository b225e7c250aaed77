/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/model/diag.h"
#include "backends/spirv/spirv/module/spv.h"

void gpubpf_spv_image_finish(struct gpubpf_spv_image *p)
{
	if (p->owned)
		gpubpf_cl_parts_finish(&p->parts);
	gpubpf_pool_finish(&p->pool);
}

static int open_parts(struct gpubpf_spv_image *p, const struct gpubpf_image *image, struct gpubpf_diag *diag)
{
	const char *options = image->options ? image->options : "";
	int err;

	if (image->kind == GPUBPF_IMAGE_SPIRV) {
		p->single = (struct gpubpf_cl_part){ GPUBPF_IMAGE_SPIRV, image->data, image->size, options, NULL, 0 };
		p->parts = (struct gpubpf_cl_parts){ &p->single, 1, options };
		return 0;
	}
	if (image->kind != GPUBPF_IMAGE_OPENCL_PARTS)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the image is not a SPIR-V module");
	err = gpubpf_cl_parts_read(image->data, image->size, &p->parts);
	p->owned = err == 0;
	if (err == -EBADMSG)
		gpubpf_diag_set(diag, GPUBPF_E_PROTOCOL, GPUBPF_NOPC, "the agent's copy of a linked program is damaged");
	return err;
}

/* Read part i of the linked program. If the part has kernels, it becomes the image's module. */
static int read_part(struct gpubpf_spv_image *p, uint32_t i, struct gpubpf_diag *diag)
{
	const struct gpubpf_cl_part *part = &p->parts.part[i];
	struct gpubpf_spv_kernel *kernels;
	struct gpubpf_spv module;
	uint32_t n;
	int err = gpubpf_spv_read(part->data, part->size, &p->pool, &module, diag);

	if (!err)
		err = gpubpf_spv_kernels(&module, &p->pool, &kernels, &n);
	if (err < 0 || (!n && p->parts.nparts > 1))
		return err;
	if (p->kernels)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "its kernels lie in several linked SPIR-V modules; only one may contain kernels");
	p->module = module;
	p->kernels = kernels;
	p->nkernels = n;
	p->part = i;
	return 0;
}

int gpubpf_spv_image_read(struct gpubpf_spv_image *p, const struct gpubpf_image *image, uint32_t kinds,
			  struct gpubpf_diag *diag)
{
	int err = open_parts(p, image, diag);

	for (uint32_t i = 0; !err && i < p->parts.nparts; i++)
		if (p->parts.part[i].kind == GPUBPF_IMAGE_SPIRV)
			err = read_part(p, i, diag);
	if (!err && !p->kernels) {
		gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "its kernels are OpenCL C source, not SPIR-V (IL)");
		return -ENOENT;
	}
	if (!err && kinds & GPUBPF_SITE_BIT(LINE))
		err = gpubpf_spv_lines(&p->module, &p->pool);
	return err ? err : gpubpf_spv_functions(&p->module, &p->pool, kinds, &p->kernels, p->nkernels, &p->nfunctions);
}

const char *gpubpf_spv_reason(const struct gpubpf_kernel_info *info, const struct gpubpf_device_caps *caps)
{
	if (info->reason[0])
		return info->reason;
	if (!(caps->bits & GPUBPF_CAP_LINK))
		return "the device cannot link programs (clCompileProgram, clLinkProgram)";
	return "";
}
