/* SPDX-License-Identifier: Apache-2.0 */
#include "target.h"

bool gpubpf_caps_take(const struct gpubpf_device_caps *caps, enum gpubpf_image_kind kind)
{
	static const uint64_t bits[] = {
		[GPUBPF_IMAGE_SPIRV] = GPUBPF_CAP_TAKES_SPIRV, [GPUBPF_IMAGE_OPENCL_C] = GPUBPF_CAP_TAKES_OPENCL_C,
		[GPUBPF_IMAGE_PTX] = GPUBPF_CAP_TAKES_PTX, [GPUBPF_IMAGE_AMDGPU] = GPUBPF_CAP_TAKES_AMDGPU,
	};

	return kind < sizeof(bits) / sizeof(bits[0]) && caps->bits & bits[kind];
}
