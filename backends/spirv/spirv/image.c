/* SPDX-License-Identifier: Apache-2.0 */
#include "core/diag.h"
#include "spv.h"

int gpubpf_spv_image_read(struct gpubpf_spv_image *p, const struct gpubpf_image *image, struct gpubpf_diag *diag)
{
	int err;

	if (image->kind != GPUBPF_IMAGE_SPIRV)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the image is no SPIR-V module");
	err = gpubpf_spv_read(image->data, image->size, &p->pool, &p->module, diag);
	return err ? err : gpubpf_spv_kernels(&p->module, &p->pool, &p->kernels, &p->nkernels);
}

const char *gpubpf_spv_reason(const struct gpubpf_kernel_info *info, const struct gpubpf_device_caps *caps)
{
	if (info->reason[0])
		return info->reason;
	if (!(caps->bits & GPUBPF_CAP_LINK))
		return "the device cannot link programs (clCompileProgram, clLinkProgram)";
	return "";
}
