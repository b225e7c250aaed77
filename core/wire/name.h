/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernels, which templates make long. Agent, session and workers identify a kernel by a name of at most 227
 * bytes: its own, or a short form. Only patterns are compared with the whole name.
 */
#ifndef GPUBPF_CORE_WIRE_NAME_H
#define GPUBPF_CORE_WIRE_NAME_H

#include <stddef.h>

#define GPUBPF_NAME_SIZE 256        /* size of a buffer for a name or a glob, with its NUL */
#define GPUBPF_SHORT_NAME 227       /* bytes: PoCL names files after kernels, and after twins too */
#define GPUBPF_WHOLE_NAME_SIZE 4096 /* size of a buffer for a whole name; kernels with longer names are not probed */

/*
 * Copies a name. A longer one becomes its beginning and end around a hash of the whole: "BEGINNING$<16 digits>$END",
 * which is valid in a symbol.
 */
void gpubpf_name_short(const char *name, size_t len, char out[GPUBPF_NAME_SIZE]);

#endif
