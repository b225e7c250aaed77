/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: backends/hip/amdgpu/object/elf.c backends/hip/amdgpu/object/meta.c backends/hip/amdgpu/object/msgpack.c backends/hip/amdgpu/object/descriptor.c
// SOURCES: core/wire/name.c core/wire/wire.c core/model/diag.c
// KERNELS: --target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -mcode-object-version=4 -include tests/backends/hip/kernels/prelude.h
/* Parses arbitrary bytes after the header of an AMD ELF file. The reader must never return data outside the file. */
#include "hip.h"

#include "backends/hip/amdgpu/object/descriptor.h"
#include "backends/hip/amdgpu/isa/isa.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Change a kernel descriptor to two more vector registers, for each GPU family. The changed descriptor must declare at
 * least that many registers.
 */
static void descriptor(const uint8_t *bytes)
{
	static const struct hip_isa isas[] = {
		{ .family = HIP_GFX90A, .accum = true }, { .family = HIP_GFX940, .accum = true },
		{ .family = HIP_GFX11, .wave32 = true, .wide_sgprs = true },
		{ .family = HIP_GFX12, .wave32 = true, .wide_sgprs = true, .ids_in_traps = true },
	};
	struct hip_descriptor d, other = { .properties = HIP_USER_FIELDS, .rsrc2 = 0xffff };

	memcpy(&d, bytes, sizeof(d));
	for (size_t i = 0; i < sizeof(isas) / sizeof(*isas); i++) {
		struct hip_descriptor twin = d;
		struct hip_registers want = hip_registers_of(&isas[i], &d), has;
		struct hip_start start = hip_start_of(&isas[i], &d);

		hip_touch(&start, sizeof(start));
		hip_descriptor_join(&twin, &other);
		want.vector += 2;
		if (!hip_registers_set(&isas[i], &twin, &want))
			continue;
		has = hip_registers_of(&isas[i], &twin);
		if (has.vector < want.vector || has.accum < want.accum)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *file = size >= sizeof(Elf64_Ehdr) ? malloc(size) : NULL;
	Elf64_Ehdr *head = (Elf64_Ehdr *)file;
	struct gpubpf_diag diag;
	const uint8_t *kd;
	struct hip_elf elf;

	if (!file)
		return -1;
	memcpy(file, data, size);
	memcpy(head->e_ident, ELFMAG "\2\1\1\x40", 8);
	head->e_machine = EM_AMDGPU;
	gpubpf_diag_init(&diag);
	if (hip_elf_open(file, size, &elf, &diag) < 0)
		abort();
	hip_walk(&elf);
	kd = hip_elf_at(&elf, head->e_entry, sizeof(struct hip_descriptor));
	if (kd)
		descriptor(kd);
	free(file);
	return 0;
}
