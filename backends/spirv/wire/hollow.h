/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_SPIRV_WIRE_HOLLOW_H
#define GPUBPF_BACKENDS_SPIRV_WIRE_HOLLOW_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Is it a binary of PoCL's without the program's code? They hold files of PoCL's cache, which another process that makes the
 * same program takes away for a moment, to write them anew; who loads a binary that was made then ends by an assert.
 * Source: pocl_binary and pocl_file_util of PoCL 3.1.
 */
bool gpubpf_cl_is_hollow(const void *binary, size_t size);

#endif
