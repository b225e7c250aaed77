/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links up to HIP_LINK_OBJECTS relocatable objects from LLVM into one code object that AMD's loader accepts. The result
 * is position-independent. A relocation that the loader would have to apply is refused.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_LINKER_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_LINKER_H

#include "core/target.h"
#include "elf.h"

#define HIP_LINK_OBJECTS 2

/*
 * A branch that the linker writes. It replaces an instruction in the .text section of object number `object`. Its
 * target is a symbol of any of the objects.
 */
struct hip_branch {
	uint32_t object;
	uint64_t off;       /* offset in the section .text, in bytes */
	const char *symbol; /* target; NULL: the instruction becomes s_nop */
};

/* A position in the result whose file offset the linker reports to the caller. */
struct hip_link_position {
	char symbol[32];
	uint64_t bytes_after; /* distance of the position from the symbol, in bytes */
	uint64_t off;         /* output: offset of the position in the file */
};

struct hip_link {
	struct hip_elf object[HIP_LINK_OBJECTS];
	uint32_t nobjects;
	uint32_t flags;       /* e_flags */
	uint8_t abi;          /* EI_ABIVERSION */
	const void *metadata; /* contents of the metadata note (MessagePack) */
	size_t metadata_size;
	const struct hip_branch *branches;
	uint32_t nbranches;
	struct hip_link_position *positions;
	uint32_t npositions;
};

/* Links the objects. The result exports all global symbols that are not hidden, except gpubpf_site_* and
 * gpubpf_inline_*. The caller frees out->data. Returns 0, -ENOMEM, or -EINVAL with the reason. */
int hip_link(const struct hip_link *job, struct gpubpf_blob *out, struct gpubpf_diag *diag);

#endif
