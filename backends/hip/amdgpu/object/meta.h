/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata of a code object: its kernels and their arguments (AMDGPU Usage, "Code Object V3 Metadata"). */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_META_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_META_H

#include "core/target.h"
#include "elf.h"
#include "msgpack.h"

/* The metadata of one kernel. The strings point into the metadata and are not NUL-terminated. */
struct hip_meta {
	const char *name, *symbol;
	uint32_t name_len, symbol_len;
	/* agprs is UINT32_MAX if the metadata does not state it */
	uint32_t vgprs, agprs, sgprs, kernarg_size, wave_size;
	struct gpubpf_reader map; /* the kernel's map in the MessagePack data */
	/* the array of arguments; args.at is NULL if there is none */
	struct gpubpf_reader args;
};

struct hip_meta_arg {
	uint32_t offset, size;
	const char *name, *type, *kind; /* NULL: not stated */
	uint32_t name_len, type_len, kind_len;
};

/* Reads the metadata of kernel number i. Returns false if there is no such kernel or the metadata is malformed. */
bool hip_meta_kernel(const struct hip_elf *elf, uint32_t i, struct hip_meta *meta);
/* Finds a kernel by its name, which is shortened as gpubpf_name_short() does. Returns false if there is none. */
bool hip_meta_find(const struct hip_elf *elf, const char *name, struct hip_meta *meta);
/* Reads the next argument that the source declares, and skips hidden ones. *left is the number of arguments not read
 * yet. Returns false after the last one. */
bool hip_meta_arg(struct gpubpf_reader *args, uint32_t *left, struct hip_meta_arg *arg);
uint32_t hip_meta_nargs(struct hip_meta *meta, struct gpubpf_reader *args);
/* Stores the kernel's parameters in params[], at most `room` of them, and returns their total number. Stores each
 * parameter's offset in the kernel's arguments in offsets[], unless it is NULL. */
uint32_t hip_meta_params(const struct hip_meta *meta, struct gpubpf_param *params, uint32_t *offsets, uint32_t room);

/* The values of a twin's metadata that differ from the original's. */
struct hip_meta_twin {
	const char *name; /* name of the twin; its descriptor's symbol is this name plus ".kd" */
	uint32_t vgprs, agprs, sgprs, private_size, group_size;
	uint32_t words; /* number of 8-byte arguments, passed by value, that follow the original's arguments */
	uint32_t end;   /* offset of the first of these arguments in the kernel's arguments */
};

/* Writes metadata with one kernel, the twin of the kernel `meta`. The caller frees out->data. Returns 0, -ENOMEM, or
 * -EINVAL if the original's metadata is malformed. */
int hip_meta_write(const struct hip_elf *elf, const struct hip_meta *meta, const struct hip_meta_twin *twin,
		   struct gpubpf_blob *out);

#endif
