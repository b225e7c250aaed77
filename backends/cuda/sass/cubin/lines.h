/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_SASS_LINES_H
#define GPUBPF_SASS_LINES_H

#include "core/worker/lines.h"
#include "cubin.h"

/* Reads the lines of all kernels of a cubin from the debug information of nvcc -lineinfo or -G. The table is empty
 * if there is none. */
void sass_lines_read(const struct sass_cubin *cubin, struct gpubpf_lines *lines);
/* Reads the lines and where each of them begins. */
void sass_lines_read_starts(const struct sass_cubin *cubin, struct gpubpf_lines *lines);
/* Returns the address in these tables of the instruction at byte offset `off` of code section `text`. */
uint64_t sass_line_address(uint32_t text, uint64_t off);
/* Returns the line of that instruction; 0: unknown. */
uint32_t sass_line_at(const struct gpubpf_lines *lines, uint32_t text, uint64_t off);

#endif
