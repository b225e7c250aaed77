/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata of a code object: its kernels and their arguments (AMDGPU Usage, "Code Object V3 Metadata"). */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_META_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_META_H

#include "core/target.h"
#include "elf.h"
#include "msgpack.h"

/* a kernel in the metadata; texts lie there and are not terminated */
struct hip_meta {
	const char *name, *symbol;
	uint32_t name_len, symbol_len;
	uint32_t vgprs, agprs, sgprs, kernarg_size, wave_size; /* agprs: UINT32_MAX where it is not told */
	struct gpubpf_reader map;    /* all of it */
	struct gpubpf_reader args;   /* the array; at NULL: there is none */
};

struct hip_meta_arg {
	uint32_t offset, size;
	const char *name, *type, *kind; /* NULL: not said */
	uint32_t name_len, type_len, kind_len;
};

/* Kernel number i; false: there is none, or the metadata makes no sense. */
bool hip_meta_kernel(const struct hip_elf *elf, uint32_t i, struct hip_meta *meta);
/* By the name that the runtime knows, in its short form. */
bool hip_meta_find(const struct hip_elf *elf, const char *name, struct hip_meta *meta);
/* The next of the arguments that the source has; hidden ones are passed over. */
bool hip_meta_arg(struct gpubpf_reader *args, uint32_t *left, struct hip_meta_arg *arg);
uint32_t hip_meta_nargs(struct hip_meta *meta, struct gpubpf_reader *args);
/* The kernel's parameters into params (room for all); returns how many there are. Offsets: where each lies in
 * the kernel's arguments, NULL not wanted. */
uint32_t hip_meta_params(const struct hip_meta *meta, struct gpubpf_param *params, uint32_t *offsets, uint32_t room);

/* what a twin's metadata says otherwise */
struct hip_meta_twin {
	const char *name;          /* the symbol is name.kd */
	uint32_t vgprs, agprs, sgprs, private_size, group_size;
	uint32_t words;            /* of 8 bytes behind the arguments, by value */
	uint32_t end;              /* of the arguments, where the first of them begins */
};

/* Metadata with one kernel, the twin of this one. -ENOMEM; -EINVAL: the original makes no sense. */
int hip_meta_write(const struct hip_elf *elf, const struct hip_meta *meta, const struct hip_meta_twin *twin,
		   struct gpubpf_blob *out);

#endif
