/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_SASS_LINES_H
#define GPUBPF_SASS_LINES_H

#include "core/worker/lines.h"
#include "cubin.h"

/* Reads the lines of all kernels of a cubin from the debug information that nvcc -lineinfo or -G adds. The table is
 * empty if there is no such information. */
void sass_lines_read(const struct sass_cubin *cubin, struct gpubpf_lines *lines);
/* Like sass_lines_read(), but also reads where each line begins. */
void sass_lines_read_starts(const struct sass_cubin *cubin, struct gpubpf_lines *lines);
/* Returns the address that these tables use for the instruction at byte offset `off` of code section `text`. */
uint64_t sass_line_address(uint32_t text, uint64_t off);
/* Returns the source line of the instruction at byte offset `off` of code section `text`; 0: unknown. */
uint32_t sass_line_at(const struct gpubpf_lines *lines, uint32_t text, uint64_t off);

#endif
