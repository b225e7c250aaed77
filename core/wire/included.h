/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of comment behind the text of a twin of OpenCL C, whole lines each. */
#ifndef GPUBPF_CORE_WIRE_INCLUDED_H
#define GPUBPF_CORE_WIRE_INCLUDED_H

#define GPUBPF_INCLUDED_PATH "//gpubpf-included "          /* where an #include looks, whether there is a file or not */
#define GPUBPF_INCLUDED_KNOWN "//gpubpf-included-known\n"  /* these are all */
#define GPUBPF_INCLUDED_UNKNOWN "//gpubpf-included-unknown\n"

#endif
