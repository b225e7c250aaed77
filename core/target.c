/* SPDX-License-Identifier: Apache-2.0 */
#include "target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int gpubpf_twin_of_one(const struct gpubpf_lower_job *job, struct gpubpf_twin_image *out)
{
	out->refused = calloc(job->nsites, sizeof(*out->refused));
	out->twins = calloc(1, sizeof(*out->twins));
	if (!out->refused || !out->twins)
		return -ENOMEM;
	out->ntwins = 1; /* by the first site */
	for (uint32_t i = 1; i < job->nsites; i++)
		if (strcmp(job->sites[i].kernel, job->sites[0].kernel)) {
			out->refused[out->nrefused].site = i;
			snprintf(out->refused[out->nrefused++].reason, sizeof(out->refused->reason),
				 "twins of this target are asked for one by one");
		}
	return 0;
}

bool gpubpf_caps_take(const struct gpubpf_device_caps *caps, enum gpubpf_image_kind kind)
{
	static const uint64_t bits[] = {
		[GPUBPF_IMAGE_SPIRV] = GPUBPF_CAP_TAKES_SPIRV, [GPUBPF_IMAGE_OPENCL_C] = GPUBPF_CAP_TAKES_OPENCL_C,
		[GPUBPF_IMAGE_PTX] = GPUBPF_CAP_TAKES_PTX, [GPUBPF_IMAGE_AMDGPU] = GPUBPF_CAP_TAKES_AMDGPU,
	};

	return kind < sizeof(bits) / sizeof(bits[0]) && caps->bits & bits[kind];
}
