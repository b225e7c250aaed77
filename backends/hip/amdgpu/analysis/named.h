/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places with names: where source lines begin, and marks (gpubpf/mark.h). The section .gpubpf_marks lists the marks.
 * Each entry is the address of the instruction in 8 bytes, the mark's name, and the register with its value as the
 * assembly spells it. Both strings end in a NUL.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_NAMED_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_NAMED_H

#include "core/worker/lines.h"
#include "found_kernel.h"

/* Reads the lines of the code object that the requested places need. Call gpubpf_lines_finish() after the names were
 * used. */
void hip_named_lines(const struct hip_app_kernel *app, struct gpubpf_lines *lines);
/* Finds the lines and marks in the kernel's code, if app->insns includes such places. Returns 0 or -ENOMEM. */
int hip_named_find(struct hip_app_kernel *app, const struct gpubpf_lines *lines);
/* Writes the name of a place at an instruction. */
void hip_named_write(const struct hip_patch *patch, enum gpubpf_site kind, char *name, size_t size);

#endif
