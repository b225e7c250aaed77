/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_SPIRV_WIRE_HOLLOW_H
#define GPUBPF_BACKENDS_SPIRV_WIRE_HOLLOW_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns true if a PoCL binary lacks the program's code. A PoCL binary holds files of PoCL's cache. While another
 * process builds the same program, these files are missing for a moment. A binary that PoCL creates in that moment
 * lacks them, and a process that loads the binary aborts with an assertion. Source: pocl_binary and pocl_file_util of
 * PoCL 3.1.
 */
bool gpubpf_pocl_binary_lacks_code(const void *binary, size_t size);

#endif
