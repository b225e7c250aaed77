/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU kernel that was found in an image: its code object, metadata, descriptor and code. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_FOUND_KERNEL_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_FOUND_KERNEL_H

#include "code.h"
#include "core/target.h"
#include "backends/hip/amdgpu/object/descriptor.h"
#include "backends/hip/amdgpu/object/elf.h"
#include "backends/hip/amdgpu/object/meta.h"

/* The kernel or one of the functions that it calls, as part of a twin's code. */
struct hip_part {
	char name[256];   /* "": the kernel */
	uint64_t address; /* virtual address in the file */
	const uint8_t *bytes;
	uint32_t off, size; /* offset in the twin's code, and size, both in bytes */
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
	/* the kernel, then the functions that the twin contains; NULL: the twin calls the functions of the original
	 * code object */
	struct hip_part *parts;
	uint32_t nparts;
	uint8_t *part_bytes; /* the bytes of all parts, one after another */
	bool wave32;
	uint32_t insns; /* GPUBPF_SITE_BIT of the kinds of instruction places that the code is searched for */
	uint32_t words; /* bits of enum hip_bind_args: the arguments that the agent sets at each launch of the twin */
};

/* Kinds of places that have names. Such a place can be at any instruction. */
#define HIP_NAMED_SITES (GPUBPF_SITE_BIT(INSN) | GPUBPF_SITE_BIT(LINE) | GPUBPF_SITE_BIT(MARK))

/* Sets GPUBPF_E_INJECT with `why` and returns -EINVAL. */
int hip_refuse(struct gpubpf_diag *diag, const char *why);

/* Opens the image's code object for the device. The caller frees app->plain, on failure too. */
int hip_app_kernel_open(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
			struct hip_app_kernel *app, struct gpubpf_diag *diag);
/* Reads the descriptor and the instructions of the kernel that app->meta describes. `twin`: the code has stubs and
 * probes, so branches may go to addresses before the kernel's first instruction. Without `twin`, such branches are
 * refused. The caller calls hip_app_kernel_finish(), on failure too. */
int hip_app_kernel_read(struct hip_app_kernel *app, bool twin, struct gpubpf_diag *diag);
/* Reads the function at `address` in the object app->elf, with its instruction places. Sets app->code, app->address and
 * app->bytes to the function's. The caller calls hip_code_finish(&app->code), on failure too. */
int hip_app_kernel_read_function(struct hip_app_kernel *app, uint64_t address, struct gpubpf_diag *diag);
/* Stores the name of the function's symbol. Without a symbol, or if another function has the same name, stores the
 * address in hexadecimal. */
void hip_app_kernel_function_name(const struct hip_app_kernel *app, uint64_t address, char name[256]);
/* Appends the functions that the kernel calls, directly or not, to app->code and app->bytes. Refuses code that calls
 * functions through pointers. */
int hip_app_kernel_add_callees(struct hip_app_kernel *app, struct gpubpf_diag *diag);
void hip_app_kernel_finish(struct hip_app_kernel *app);
/* Returns 0 if the twin's symbols can contain the kernel's name, else -EINVAL with the reason. */
int hip_check_symbol_name(const char *name, struct gpubpf_diag *diag);

#endif
