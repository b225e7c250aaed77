/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comment lines that gpubpf-clread appends to the source of an OpenCL C twin. They list the files that the source
 * includes.
 */
#ifndef GPUBPF_CORE_WIRE_INCLUDED_H
#define GPUBPF_CORE_WIRE_INCLUDED_H

/* followed by a path at which an #include directive looks for a file, whether or not a file exists there */
#define GPUBPF_INCLUDED_PATH "//gpubpf-included "
/* the last line, if the list of paths is complete */
#define GPUBPF_INCLUDED_KNOWN "//gpubpf-included-known\n"
#define GPUBPF_INCLUDED_UNKNOWN "//gpubpf-included-unknown\n"

#endif
