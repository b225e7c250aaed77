/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a twin for the fake runtime: the unchanged image, which binds no variables. */
#include <stdlib.h>
#include <string.h>

#include "backends/hip/wire/bind.h"
#include "tests/hooks/fake_tool.h"

const uint32_t fake_twin_input_kind = GPUBPF_IMAGE_AMDGPU, fake_twin_output_kind = GPUBPF_IMAGE_AMDGPU;

int fake_twin_build(const struct gpubpf_device_caps *caps, const char *source, size_t size, const char *options,
		    char names[][128], const uint32_t *index, uint32_t *nparams, uint32_t n, void **binary,
		    size_t *binary_size)
{
	char *twin = calloc(1, size + HIP_BIND_TAIL);

	memcpy(twin, source, size);
	memcpy(twin + size + sizeof(uint32_t), HIP_BIND_MAGIC, strlen(HIP_BIND_MAGIC));
	for (uint32_t i = 0; i < n; i++)
		nparams[i] = 0;
	*binary = twin;
	*binary_size = size + HIP_BIND_TAIL;
	return 0;
}
