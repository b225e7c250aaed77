/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata of a code object: its kernels and their arguments (AMDGPU Usage, "Code Object V3 Metadata"). */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_META_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_META_H

#include "core/target.h"
#include "elf.h"
#include "msgpack.h"

/* a kernel in the metadata; the texts point into it and are not terminated */
struct hip_meta {
	const char *name, *symbol;
	uint32_t name_len, symbol_len;
	uint32_t vgprs, agprs, sgprs, kernarg_size, wave_size; /* agprs: UINT32_MAX if not stated */
	struct gpubpf_reader map;                              /* the whole map of the kernel */
	struct gpubpf_reader args;                             /* the array of arguments; at NULL: none */
};

struct hip_meta_arg {
	uint32_t offset, size;
	const char *name, *type, *kind; /* NULL: not stated */
	uint32_t name_len, type_len, kind_len;
};

/* Reads kernel number i. Returns false if there is none, or if the metadata is malformed. */
bool hip_meta_kernel(const struct hip_elf *elf, uint32_t i, struct hip_meta *meta);
/* Finds a kernel by the short form of the name that the runtime uses. */
bool hip_meta_find(const struct hip_elf *elf, const char *name, struct hip_meta *meta);
/* Reads the next argument of the source and skips hidden ones. Returns false after the last. */
bool hip_meta_arg(struct gpubpf_reader *args, uint32_t *left, struct hip_meta_arg *arg);
uint32_t hip_meta_nargs(struct hip_meta *meta, struct gpubpf_reader *args);
/* Writes the kernel's parameters to params (for at most `room`) and returns their number. offsets receives each
 * parameter's offset in the kernel's arguments; it may be NULL. */
uint32_t hip_meta_params(const struct hip_meta *meta, struct gpubpf_param *params, uint32_t *offsets, uint32_t room);

/* values of a twin's metadata that differ from the original's */
struct hip_meta_twin {
	const char *name; /* the symbol is name.kd */
	uint32_t vgprs, agprs, sgprs, private_size, group_size;
	uint32_t words; /* number of arguments of 8 bytes that follow the original's, by value */
	uint32_t end;   /* offset after the original's arguments, where the first of these words begins */
};

/* Writes metadata with one kernel, the twin of this one. Returns 0, -ENOMEM, or -EINVAL if the original is
 * malformed. */
int hip_meta_write(const struct hip_elf *elf, const struct hip_meta *meta, const struct hip_meta_twin *twin,
		   struct gpubpf_blob *out);

#endif
