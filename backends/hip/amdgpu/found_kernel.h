/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel found in an image: its code object, what the metadata and the descriptor say of it, and its code. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_FOUND_KERNEL_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_FOUND_KERNEL_H

#include "code.h"
#include "core/target.h"
#include "descriptor.h"
#include "elf.h"
#include "meta.h"

/* the kernel, or a function that it calls, in the code of a twin */
struct hip_part {
	char name[256];            /* "": the kernel */
	uint64_t address;          /* in the file */
	const uint8_t *bytes;
	uint32_t off, size;        /* in the twin's code */
};

/* a kernel of the application's, found in its code object */
struct hip_found {
	void *plain;               /* what was compressed in the image: the code object lies in it */
	struct hip_elf elf;
	const struct hip_isa *isa;
	struct hip_meta meta;
	struct hip_descriptor descriptor;
	struct hip_code code;
	const uint8_t *bytes;
	uint64_t address;
	struct hip_part *parts;    /* of the twin, the kernel first; NULL: the functions stay the original's */
	uint32_t nparts;
	uint8_t *joined;           /* the parts' bytes */
	bool wave32;
	uint32_t insns;            /* places of single instructions that its code is read with, GPUBPF_TAKES */
	uint32_t words;            /* what each launch of the twin fills: enum hip_bind_args */
};

/* the kinds of places that have names, which any instruction may be */
#define HIP_NAMED (GPUBPF_TAKES(INSN) | GPUBPF_TAKES(LINE) | GPUBPF_TAKES(MARK))

/* -EINVAL, with why as GPUBPF_E_INJECT. */
int hip_refuse(struct gpubpf_diag *diag, const char *why);

/* Open the code object for the device; app->plain is to be freed either way. */
int hip_found_open(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps, struct hip_found *app,
		   struct gpubpf_diag *diag);
/* Descriptor and instructions of the kernel that app->meta describes. A kernel of the application stays behind its
 * first instruction; control in a twin goes to stubs and probes, which lie before it too.  hip_found_finish()
 * either way. */
int hip_found_read(struct hip_found *app, bool twin, struct gpubpf_diag *diag);
/* A function of the object that app->elf is, with what is read of its instructions in any case. app->address and ->bytes become
 * the function's; hip_code_finish(&app->code) either way. */
int hip_found_read_function(struct hip_found *app, uint64_t address, struct gpubpf_diag *diag);
/* Its name: the symbol's, or where it lies, if there is none or others are called so. */
void hip_found_name(const struct hip_found *app, uint64_t address, char name[256]);
/* Put the functions that the kernel calls behind it: app->code, ->bytes. Refused where some are called by pointers. */
int hip_found_join(struct hip_found *app, struct gpubpf_diag *diag);
void hip_found_finish(struct hip_found *app);
/* Can the names of a twin be made of the kernel's? */
int hip_found_named(const char *name, struct gpubpf_diag *diag);

#endif
