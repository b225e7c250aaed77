/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the `inspect` stage of the target spirv: lists a module's kernels. Lists also its functions if places
 * inside of kernels are requested.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/spirv/spirv/module/spv.h"

/* Returns the number of bytes of all place names of the kernel, with their terminating zeros. */
static size_t name_bytes(const struct gpubpf_kernel_info *info)
{
	size_t n = 0;

	for (uint32_t i = 0; i < info->nplaces; i++)
		n += info->places[i].name[0] ? strlen(info->places[i].name) + 1 : 0;
	return n;
}

/*
 * Copy the names to the memory at `to`, which belongs to the list, and let the places point there. Returns the end of
 * the copies.
 */
static char *copy_names(struct gpubpf_place *places, uint32_t n, char *to)
{
	for (uint32_t i = 0; i < n; i++) {
		size_t len = strlen(places[i].name);

		if (!len)
			continue;
		places[i].name = memcpy(to, places[i].name, len + 1);
		to += len + 1;
	}
	return to;
}

static int list_kernels(const struct gpubpf_spv_image *p, const struct gpubpf_device_caps *caps,
			struct gpubpf_kernel_info **out)
{
	struct gpubpf_kernel_info *list;
	struct gpubpf_param *params;
	struct gpubpf_place *places;
	size_t nparams = 0, nplaces = 0, ncallees = 0, names = 0;
	uint32_t *callees;
	char *name;

	for (uint32_t i = 0; i < p->nfunctions; i++) {
		nparams += p->kernels[i].info.nparams;
		nplaces += p->kernels[i].info.nplaces;
		names += name_bytes(&p->kernels[i].info);
		ncallees += p->kernels[i].info.ncallees;
	}
	list = calloc(1, p->nfunctions * sizeof(*list) + nplaces * sizeof(*places) + nparams * sizeof(*params) +
				 ncallees * sizeof(*callees) + names + 1);
	if (!list)
		return -ENOMEM;
	places = (struct gpubpf_place *)(list + p->nfunctions);
	params = (struct gpubpf_param *)(places + nplaces);
	callees = (uint32_t *)(params + nparams);
	name = (char *)(callees + ncallees);
	for (uint32_t i = 0; i < p->nfunctions; i++) {
		const struct gpubpf_kernel_info *info = &p->kernels[i].info;

		list[i] = *info;
		snprintf(list[i].reason, sizeof(list[i].reason), "%s", gpubpf_spv_reason(info, caps));
		list[i].places = places;
		if (info->nplaces)
			memcpy(places, info->places, info->nplaces * sizeof(*places));
		name = copy_names(places, info->nplaces, name);
		places += info->nplaces;
		list[i].params = params;
		if (info->nparams)
			memcpy(params, info->params, info->nparams * sizeof(*params));
		params += info->nparams;
		list[i].callees = callees;
		if (info->ncallees)
			memcpy(callees, info->callees, info->ncallees * sizeof(*callees));
		callees += info->ncallees;
	}
	*out = list;
	return 0;
}

int gpubpf_spirv_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
			 struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag)
{
	struct gpubpf_spv_image p = { 0 };
	int err = gpubpf_spv_image_read(&p, image, image->places, diag);

	if (err == 0)
		err = list_kernels(&p, caps, kernels);
	if (err == 0)
		*nkernels = p.nfunctions;
	gpubpf_spv_image_finish(&p);
	return err;
}
