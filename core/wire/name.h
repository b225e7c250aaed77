/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short names of kernels, because templates make long names. Agent, session and workers identify a kernel by its name,
 * or by a short form of at most 227 bytes if the name is longer. Only patterns are compared with the whole name.
 */
#ifndef GPUBPF_CORE_WIRE_NAME_H
#define GPUBPF_CORE_WIRE_NAME_H

#include <stddef.h>

#define GPUBPF_NAME_SIZE 256        /* size of a buffer for a name or a glob, with its NUL */
#define GPUBPF_SHORT_NAME 227       /* maximum bytes of a short name: PoCL names files after kernels and twins, and a
				     * file name has at most 255 */
#define GPUBPF_WHOLE_NAME_SIZE 4096 /* size of a buffer for a whole name; kernels with longer names are not probed */

/*
 * Copies a name of at most GPUBPF_SHORT_NAME bytes. A longer name becomes "BEGINNING$<16 digits>$END", where the digits
 * are a hash of the whole name. The form is valid in a symbol.
 */
void gpubpf_name_short(const char *name, size_t len, char out[GPUBPF_NAME_SIZE]);

#endif
