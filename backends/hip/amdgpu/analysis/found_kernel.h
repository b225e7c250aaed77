/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel found in an image: its code object, metadata, descriptor and code. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_FOUND_KERNEL_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_FOUND_KERNEL_H

#include "code.h"
#include "core/target.h"
#include "backends/hip/amdgpu/object/descriptor.h"
#include "backends/hip/amdgpu/object/elf.h"
#include "backends/hip/amdgpu/object/meta.h"

/* a part of a twin's code: the kernel, or a function that it calls */
struct hip_part {
	char name[256];   /* "": the kernel */
	uint64_t address; /* virtual address in the file */
	const uint8_t *bytes;
	uint32_t off, size; /* offset and size in the twin's code, in bytes */
};

/* a kernel of the application, found in its code object */
struct hip_app_kernel {
	void *plain; /* the decompressed image that contains the code object, or NULL */
	struct hip_elf elf;
	const struct hip_isa *isa;
	struct hip_meta meta;
	struct hip_descriptor descriptor;
	struct hip_code code;
	const uint8_t *bytes;
	uint64_t address;
	struct hip_part *parts; /* parts of the twin, the kernel first; NULL: the twin calls the functions of the
				    * original code object */
	uint32_t nparts;
	uint8_t *part_bytes; /* bytes of all parts */
	bool wave32;
	uint32_t insns; /* kinds of instruction places for which the code is read, GPUBPF_SITE_BIT */
	uint32_t words; /* words that each launch of the twin fills: enum hip_bind_args */
};

/* the kinds of places that have names; these places can be at any instruction */
#define HIP_NAMED_SITES (GPUBPF_SITE_BIT(INSN) | GPUBPF_SITE_BIT(LINE) | GPUBPF_SITE_BIT(MARK))

/* Sets GPUBPF_E_INJECT with `why` and returns -EINVAL. */
int hip_refuse(struct gpubpf_diag *diag, const char *why);

/* Opens the image's code object for the device. The caller frees app->plain, on failure too. */
int hip_app_kernel_open(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
			struct hip_app_kernel *app, struct gpubpf_diag *diag);
/* Reads the descriptor and the instructions of the kernel that app->meta describes. Control in an application's kernel
 * never goes before its first instruction. In a twin it does, to stubs and probes. The caller calls hip_app_kernel_finish(),
 * on failure too. */
int hip_app_kernel_read(struct hip_app_kernel *app, bool twin, struct gpubpf_diag *diag);
/* Reads a function of the object app->elf; instruction places are read in any case. app->address and app->bytes become
 * the function's. The caller calls hip_code_finish(&app->code), on failure too. */
int hip_app_kernel_read_function(struct hip_app_kernel *app, uint64_t address, struct gpubpf_diag *diag);
/* Returns the function's name: its symbol's, or its address if there is no symbol or the name is ambiguous. */
void hip_app_kernel_function_name(const struct hip_app_kernel *app, uint64_t address, char name[256]);
/* Appends the functions that the kernel calls to app->code and app->bytes. It refuses kernels that call some through
 * pointers. */
int hip_app_kernel_add_callees(struct hip_app_kernel *app, struct gpubpf_diag *diag);
void hip_app_kernel_finish(struct hip_app_kernel *app);
/* Returns 0 if the twin's symbol names can be derived from the kernel's name, else -EINVAL. */
int hip_check_symbol_name(const char *name, struct gpubpf_diag *diag);

#endif
