/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: backends/hip/amdgpu/analysis/calls.c backends/hip/amdgpu/analysis/code.c backends/hip/amdgpu/analysis/found_kernel.c
// SOURCES: backends/hip/amdgpu/analysis/live.c backends/hip/amdgpu/analysis/named.c backends/hip/amdgpu/analysis/patch.c
// SOURCES: backends/hip/amdgpu/inspect.c backends/hip/amdgpu/isa/access.c backends/hip/amdgpu/isa/disassembler.c
// SOURCES: backends/hip/amdgpu/isa/far_jump.c backends/hip/amdgpu/isa/flow.c backends/hip/amdgpu/isa/isa.c
// SOURCES: backends/hip/amdgpu/isa/mode.c backends/hip/amdgpu/isa/moves.c backends/hip/amdgpu/object/bundle.c
// SOURCES: backends/hip/amdgpu/object/compressed.c backends/hip/amdgpu/object/descriptor.c backends/hip/amdgpu/object/elf.c
// SOURCES: backends/hip/amdgpu/object/meta.c backends/hip/amdgpu/object/msgpack.c
// SOURCES: core/model/diag.c core/model/places.c core/model/text/nearest.c core/wire/name.c core/wire/wire.c core/worker/functions.c core/worker/lines.c
// LIBS: -lLLVM-22 -ldw -lelf -lzstd
// KERNELS: --target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -mcode-object-version=4 -include tests/backends/hip/kernels/prelude.h
// KERNELS: --target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -mcode-object-version=5 -include tests/backends/hip/kernels/prelude.h
// KERNELS: --target=amdgcn-amd-amdhsa -mcpu=gfx1100 -nogpulib -mcode-object-version=5 -include tests/backends/hip/kernels/prelude.h
// KERNELS: --target=amdgcn-amd-amdhsa -mcpu=gfx1201 -nogpulib -mcode-object-version=5 -include tests/backends/hip/kernels/prelude.h
/*
 * Code objects with arbitrary bytes as instructions and descriptors: the inspector lists the places of all kinds, or
 * gives a reason why it cannot.
 */
#include "hip_code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hip_looked l;

	if (!hip_look(&l, data, size))
		return -1;
	if (l.err == -EINVAL && !l.diag.what[0])
		abort();
	for (uint32_t i = 0; l.kernels && i < l.n; i++) {
		if (!l.kernels[i].nplaces && !l.kernels[i].reason[0])
			abort();
		for (uint32_t j = 0; j < l.kernels[i].nplaces; j++)
			if (l.kernels[i].places[j].name)
				hip_touch(l.kernels[i].places[j].name, strlen(l.kernels[i].places[j].name) + 1);
	}
	hip_looked_finish(&l);
	return 0;
}
