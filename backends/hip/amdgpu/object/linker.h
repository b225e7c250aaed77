/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links a few relocatable objects of LLVM's into one code object that AMD's loader accepts. The result is
 * position-independent: a relocation that would need the loader is refused.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_LINKER_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_LINKER_H

#include "core/target.h"
#include "elf.h"

#define HIP_LINK_OBJECTS 2

/* an instruction of an object's .text that becomes a branch to a symbol of any object */
struct hip_branch {
	uint32_t object;
	uint64_t off;       /* in the section .text */
	const char *symbol; /* NULL: the instruction becomes s_nop */
};

/* a position that the caller needs in the result */
struct hip_link_position {
	char symbol[32];
	uint64_t bytes_after; /* bytes after the symbol */
	uint64_t off;         /* out: in the file */
};

struct hip_link {
	struct hip_elf object[HIP_LINK_OBJECTS];
	uint32_t nobjects;
	uint32_t flags;       /* e_flags */
	uint8_t abi;          /* EI_ABIVERSION */
	const void *metadata; /* descriptor of the note */
	size_t metadata_size;
	const struct hip_branch *branches;
	uint32_t nbranches;
	struct hip_link_position *positions;
	uint32_t npositions;
};

/* Links the objects. The result exports global symbols that are not hidden, except gpubpf_site_* and
 * gpubpf_inline_*. */
int hip_link(const struct hip_link *job, struct gpubpf_blob *out, struct gpubpf_diag *diag);

#endif
