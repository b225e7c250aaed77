/* SPDX-License-Identifier: Apache-2.0 */
/* The target wrap's list of the kernels of all parts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/diag.h"
#include "image.h"

static size_t count(const struct wrap_image *p, size_t *places, size_t *params)
{
	size_t kernels = 0;

	*places = *params = 0;
	for (uint32_t i = 0; i < p->parts.nparts; i++)
		for (uint32_t k = 0; k < p->unit[i].nkernels; k++, kernels++) {
			*places += p->unit[i].kernel[k].info.nplaces;
			*params += p->unit[i].kernel[k].info.nparams;
		}
	return kernels;
}

static int list_kernels(const struct wrap_image *p, const struct gpubpf_device_caps *caps,
			struct gpubpf_kernel_info **out, uint32_t *nout)
{
	size_t nplaces, nparams, n = count(p, &nplaces, &nparams);
	struct gpubpf_kernel_info *list = calloc(1, n * sizeof(*list) + nplaces * sizeof(struct gpubpf_place) +
						    nparams * sizeof(struct gpubpf_param) + 1);
	struct gpubpf_place *places = (struct gpubpf_place *)(list + n);
	struct gpubpf_param *params = (struct gpubpf_param *)(places + nplaces);
	uint32_t at = 0;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->parts.nparts; i++) {
		for (uint32_t k = 0; k < p->unit[i].nkernels; k++) {
			const struct gpubpf_kernel_info *info = &p->unit[i].kernel[k].info;
			struct gpubpf_kernel_info *to = &list[at++];

			*to = *info;
			snprintf(to->reason, sizeof(to->reason), "%s",
				 wrap_reason(p, &p->unit[i].kernel[k], caps));
			to->places = memcpy(places, info->places, info->nplaces * sizeof(*places));
			places += info->nplaces;
			to->params = memcpy(params, info->params, info->nparams * sizeof(*params));
			params += info->nparams;
		}
	}
	*out = list;
	*nout = n;
	return 0;
}

/* Programs that were linked, whose kernels are all in IL. */
static bool is_for_spirv(const struct wrap_image *p)
{
	bool il = false;

	for (uint32_t i = 0; i < p->parts.nparts; i++) {
		if (p->unit[i].nkernels)
			return false;
		il = il || p->parts.part[i].kind == GPUBPF_IMAGE_SPIRV;
	}
	return il;
}

int wrap_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		 struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag)
{
	struct wrap_image p = { 0 };
	int err = wrap_image_read(&p, image, caps, diag);

	if (err == 0 && is_for_spirv(&p)) {
		gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "its kernels are in IL");
		err = -ENOENT;
	}
	if (err == 0)
		err = list_kernels(&p, caps, kernels, nkernels);
	wrap_image_finish(&p);
	return err;
}
