/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines of machine code, from the .debug_line of its ELF image (DWARF 2 to 5), which elfutils' libdw reads. The
 * tool accepts an image whose lines are missing or unreadable, and then lists no lines.
 */
#ifndef GPUBPF_WORKER_LINES_H
#define GPUBPF_WORKER_LINES_H

#include <stddef.h>
#include <stdint.h>

struct gpubpf_line_row;

struct gpubpf_lines {
	struct gpubpf_line_row *rows; /* malloc'd, sorted by address */
	char **files;                 /* malloc'd: paths of source files as passed to the compiler; only after
					* gpubpf_lines_read_starts() */
	size_t n, nfiles;
};

/* the first instruction of a source line */
struct gpubpf_line_start {
	uint64_t address;
	const char *file;
	uint32_t line;
};

/* Reads the lines. The image is not changed, and need not outlive the lines. */
void gpubpf_lines_read(const void *image, size_t size, struct gpubpf_lines *lines);
/* Reads the lines with the data that gpubpf_lines_starts() needs. */
void gpubpf_lines_read_starts(const void *image, size_t size, struct gpubpf_lines *lines);
/*
 * Lists, by address, the first instruction of each line with a statement in [from, to), in each inlined copy. 0, or
 * -ENOMEM. *starts is malloc'd; their file names belong to the lines.
 */
int gpubpf_lines_starts(const struct gpubpf_lines *lines, uint64_t from, uint64_t to, struct gpubpf_line_start **starts,
			size_t *n);
/* Returns the source line of the instruction at an address; 0: unknown. */
uint32_t gpubpf_lines_at(const struct gpubpf_lines *lines, uint64_t address);
void gpubpf_lines_finish(struct gpubpf_lines *lines);

#endif
