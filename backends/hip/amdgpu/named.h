/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places with names: where lines of the source begin, and its marks (gpubpf/mark.h). Of these the section .gpubpf_marks has,
 * one behind the other, the address of the instruction in 8 bytes, the mark's name, and the register with its value as the
 * assembly has it; both end in a NUL.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_NAMED_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_NAMED_H

#include "core/worker/lines.h"
#include "found_kernel.h"

/* The lines of the code object, as far as places ask for them; gpubpf_lines_finish() after the names were used. */
void hip_named_lines(const struct hip_found *app, struct gpubpf_lines *lines);
/* Find the lines and marks in the kernel's code, if app->insns has their places. -ENOMEM. */
int hip_named_find(struct hip_found *app, const struct gpubpf_lines *lines);
/* The name of a place at an instruction. */
void hip_named_write(const struct hip_patch *patch, enum gpubpf_site kind, char *name, size_t size);

#endif
