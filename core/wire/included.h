/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that gpubpf-clread appends to the source of an OpenCL C twin, as // comments: the files that the source
 * includes. */
#ifndef GPUBPF_CORE_WIRE_INCLUDED_H
#define GPUBPF_CORE_WIRE_INCLUDED_H

#define GPUBPF_INCLUDED_PATH "//gpubpf-included "          /* a path that an #include searches, whether the file exists
							    * or not */
#define GPUBPF_INCLUDED_KNOWN "//gpubpf-included-known\n"  /* the list of these paths is complete */
#define GPUBPF_INCLUDED_UNKNOWN "//gpubpf-included-unknown\n"

#endif
