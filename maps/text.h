/* SPDX-License-Identifier: Apache-2.0 */
/* The device library as OpenCL C 1.2 text (made by expand.py): put in front of what calls it, behind the
 * macros that devlib.h names. */
#ifndef GPUBPF_MAPS_TEXT_H
#define GPUBPF_MAPS_TEXT_H

extern const char gpubpf_device_text[];

#endif
