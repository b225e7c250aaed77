/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_SASS_LINES_H
#define GPUBPF_SASS_LINES_H

#include "core/worker/lines.h"
#include "cubin.h"

/* The lines of all kernels of a cubin, which nvcc -lineinfo and -G leave in it. */
void sass_lines_read(const struct sass_cubin *cubin, struct gpubpf_lines *lines);
/* With where they begin. */
void sass_lines_read_starts(const struct sass_cubin *cubin, struct gpubpf_lines *lines);
/* Where an instruction of a text section is among the lines. */
uint64_t sass_line_address(uint32_t text, uint64_t off);
/* Of an instruction of a text section, by its offset there; 0: not known. */
uint32_t sass_line_at(const struct gpubpf_lines *lines, uint32_t text, uint64_t off);

#endif
