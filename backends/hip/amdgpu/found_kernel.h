/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel found in an image: its code object, what the metadata and the descriptor say of it, and its code. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_FOUND_KERNEL_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_FOUND_KERNEL_H

#include "code.h"
#include "core/target.h"
#include "descriptor.h"
#include "elf.h"
#include "meta.h"

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
 * first instruction; control in a twin goes to stubs and probes, which lie before it too. hip_code_finish(&app->code)
 * either way. */
int hip_found_read(struct hip_found *app, bool twin, struct gpubpf_diag *diag);
/* Can branches of a twin reach what stands before its code; can its names be made of the kernel's? */
int hip_found_reaches(const struct hip_code *code, struct gpubpf_diag *diag);
int hip_found_named(const char *name, struct gpubpf_diag *diag);

#endif
