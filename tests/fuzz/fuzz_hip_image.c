/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: backends/hip/amdgpu/object/bundle.c backends/hip/amdgpu/object/compressed.c backends/hip/amdgpu/object/elf.c backends/hip/amdgpu/object/meta.c
// SOURCES: backends/hip/amdgpu/object/msgpack.c core/wire/name.c core/wire/wire.c core/model/diag.c
// LIBS: -lzstd
/*
 * Parses arbitrary bytes as a HIP image. The result must be a diagnostic, or a code object whose readers stay inside
 * the object.
 */
#include "hip.h"

#include "backends/hip/amdgpu/object/bundle.h"
#include "backends/hip/amdgpu/object/compressed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Limit the memory of a run, since a bundle may declare any size. */
static bool stays_small(const uint8_t *data, size_t size)
{
	return !hip_is_compressed(data, size) || size < 24 || !(data[15] | data[19] | data[20] | data[23]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const archs[] = { "gfx90a", "gfx942:sramecc+:xnack-", "gfx1100" };
	const struct gpubpf_image image = { .kind = GPUBPF_IMAGE_OFFLOAD_BUNDLE, .data = data, .size = size };
	struct gpubpf_diag diag;

	if (!stays_small(data, size))
		return -1;
	for (size_t i = 0; i < sizeof(archs) / sizeof(*archs); i++) {
		struct gpubpf_blob object = { 0 };
		struct hip_elf elf;
		void *plain;
		int err;

		gpubpf_diag_init(&diag);
		err = hip_bundle_pick(&image, archs[i], &plain, &object, &diag);
		if (!err)
			err = hip_elf_open(object.data, object.size, &elf, &diag);
		if (!err)
			hip_walk(&elf);
		else if (!diag.what[0])
			abort();
		free(plain);
	}
	return 0;
}
