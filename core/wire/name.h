/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short names of GPU kernels. The names of C++ templates can be very long. Therefore the agent, the session and the
 * workers identify a kernel by its name if that has at most 227 bytes, otherwise by a short form. Only patterns are
 * compared with the complete name.
 */
#ifndef GPUBPF_CORE_WIRE_NAME_H
#define GPUBPF_CORE_WIRE_NAME_H

#include <stddef.h>

#define GPUBPF_NAME_SIZE 256        /* size of a buffer for a short name or a glob, with its terminating zero */
/* maximum length of a short name in bytes: PoCL uses kernel and twin names in file names, of at most 255 bytes */
#define GPUBPF_SHORT_NAME 227
#define GPUBPF_WHOLE_NAME_SIZE 4096 /* size of a buffer for a complete name; kernels with longer names are not probed */

/*
 * Stores a kernel's short name in `out`. A name of at most GPUBPF_SHORT_NAME bytes is copied. A longer name becomes
 * "BEGINNING$<16 digits>$END", where the digits are a hash of the complete name. This form is valid as a symbol.
 */
void gpubpf_name_short(const char *name, size_t len, char out[GPUBPF_NAME_SIZE]);

#endif
