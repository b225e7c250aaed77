/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_SASS_LINES_H
#define GPUBPF_SASS_LINES_H

#include "core/worker/lines.h"
#include "cubin.h"

/* The lines of all kernels of a cubin, from the debug information of nvcc -lineinfo or -G. */
void sass_lines_read(const struct sass_cubin *cubin, struct gpubpf_lines *lines);
/* The same, with the starts of lines. */
void sass_lines_read_starts(const struct sass_cubin *cubin, struct gpubpf_lines *lines);
/* The address of an instruction of a text section in these tables. */
uint64_t sass_line_address(uint32_t text, uint64_t off);
/* The line of an instruction at that offset of a text section; 0: unknown. */
uint32_t sass_line_at(const struct gpubpf_lines *lines, uint32_t text, uint64_t off);

#endif
