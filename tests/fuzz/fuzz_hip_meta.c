/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: backends/hip/amdgpu/object/elf.c backends/hip/amdgpu/object/meta.c backends/hip/amdgpu/object/msgpack.c core/wire/name.c core/wire/wire.c core/model/diag.c
/* Parses arbitrary bytes as the metadata of an AMD code object, which is in MessagePack. */
#include "hip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct file {
	Elf64_Ehdr head;
	Elf64_Phdr note;
	Elf64_Nhdr metadata;
	char owner[8];
	uint8_t bytes[];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file *f = malloc(sizeof(*f) + size);
	struct gpubpf_diag diag;
	struct hip_elf elf;

	*f = (struct file){
		.head = { .e_ident = ELFMAG "\2\1\1\x40", .e_machine = EM_AMDGPU, .e_phoff = sizeof(f->head),
			  .e_phentsize = sizeof(f->note), .e_phnum = 1 },
		.note = { .p_type = PT_NOTE, .p_offset = offsetof(struct file, metadata),
			  .p_filesz = sizeof(f->metadata) + sizeof(f->owner) + size },
		.metadata = { 7, size, HIP_NT_METADATA }, .owner = "AMDGPU",
	};
	memcpy(f->bytes, data, size);
	gpubpf_diag_init(&diag);
	if (hip_elf_open(f, sizeof(*f) + size, &elf, &diag) < 0)
		abort();
	hip_walk(&elf);
	free(f);
	return 0;
}
