/* SPDX-License-Identifier: Apache-2.0 */
/* Comment lines after the text of an OpenCL C twin. Each occupies a whole line. */
#ifndef GPUBPF_CORE_WIRE_INCLUDED_H
#define GPUBPF_CORE_WIRE_INCLUDED_H

#define GPUBPF_INCLUDED_PATH "//gpubpf-included "          /* a path that an #include searches, whether the file exists
							    * or not */
#define GPUBPF_INCLUDED_KNOWN "//gpubpf-included-known\n"  /* the list is complete */
#define GPUBPF_INCLUDED_UNKNOWN "//gpubpf-included-unknown\n"

#endif
