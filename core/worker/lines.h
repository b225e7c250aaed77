/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines of machine code, from the .debug_line of its ELF image (DWARF 2 to 5), which elfutils' libdw reads. An image
 * without them, or whose lines cannot be read, has none: that is no reason to refuse it.
 */
#ifndef GPUBPF_WORKER_LINES_H
#define GPUBPF_WORKER_LINES_H

#include <stddef.h>
#include <stdint.h>

struct gpubpf_line_row;

struct gpubpf_lines {
	struct gpubpf_line_row *rows;  /* malloc'd, by address */
	char **files;                  /* likewise; their paths as the compiler was given them, where lines are to begin */
	size_t n, nfiles;
};

/* where a line begins */
struct gpubpf_line_start {
	uint64_t address;
	const char *file;
	uint32_t line;
};

/* The image is not changed, and need not outlive the lines. */
void gpubpf_lines_read(const void *image, size_t size, struct gpubpf_lines *lines);
/* With what gpubpf_lines_starts() needs. */
void gpubpf_lines_read_starts(const void *image, size_t size, struct gpubpf_lines *lines);
/* Of each line that has statements from an address below another the first instruction, in each copy of what was inlined, by
 * address. 0, or -ENOMEM; *starts is malloc'd, their files are the lines'. */
int gpubpf_lines_starts(const struct gpubpf_lines *lines, uint64_t from, uint64_t to, struct gpubpf_line_start **starts,
			size_t *n);
/* The line that the instruction at an address comes from; 0: not known. */
uint32_t gpubpf_lines_at(const struct gpubpf_lines *lines, uint64_t address);
void gpubpf_lines_finish(struct gpubpf_lines *lines);

#endif
