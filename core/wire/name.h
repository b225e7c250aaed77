/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernels, which templates make long. Agent, session and workers speak of a kernel by a name of at most 227
 * bytes: its own, or a short form of it. Only patterns are compared with the whole.
 */
#ifndef GPUBPF_CORE_WIRE_NAME_H
#define GPUBPF_CORE_WIRE_NAME_H

#include <stddef.h>

#define GPUBPF_NAME_SIZE 256        /* room for one, or for a glob, with its NUL */
#define GPUBPF_SHORT_NAME 227       /* bytes: PoCL makes a file of each kernel's name, of a twin's too */
#define GPUBPF_WHOLE_NAME_SIZE 4096 /* likewise: kernels whose names are longer are not probed */

/* A name as it is, or of a longer one the beginning and the end around a hash of all: "BEGINNING$<16 digits>$END",
 * which can be part of a symbol. */
void gpubpf_name_short(const char *name, size_t len, char out[GPUBPF_NAME_SIZE]);

#endif
