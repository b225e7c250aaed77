/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_SPIRV_WIRE_HOLLOW_H
#define GPUBPF_BACKENDS_SPIRV_WIRE_HOLLOW_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Does a binary of PoCL lack the program's code? Such a binary holds files of PoCL's cache. Another process that builds
 * the same program removes these files for a moment, to write them again. A process that loads a binary made at that
 * moment ends with an assertion. Source: pocl_binary and pocl_file_util of PoCL 3.1.
 */
bool gpubpf_pocl_binary_lacks_code(const void *binary, size_t size);

#endif
