/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places that have names: starts of source lines, and marks (gpubpf/mark.h). The section .gpubpf_marks has one entry
 * per mark. An entry consists of the 8-byte address of the instruction and two NUL-terminated strings. The strings are
 * the mark's name and, in assembly notation, the register that holds the mark's value.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_NAMED_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_NAMED_H

#include "core/worker/lines.h"
#include "found_kernel.h"

/* Reads the line table of the code object, as far as the places in app->insns need it. The caller calls
 * gpubpf_lines_finish() after the last use of a place's name. */
void hip_named_lines(const struct hip_app_kernel *app, struct gpubpf_lines *lines);
/* Records source lines and marks in the patches of app->code, if app->insns includes such places. Returns 0 or
 * -ENOMEM. */
int hip_named_find(struct hip_app_kernel *app, const struct gpubpf_lines *lines);
/* Stores the name of the place of this kind at an instruction; "" if such places have no names. */
void hip_named_write(const struct hip_patch *patch, enum gpubpf_site kind, char *name, size_t size);

#endif
