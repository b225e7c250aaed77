/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps machine code to source lines, with the section .debug_line of its ELF file (DWARF 2 to 5), which libdw of
 * elfutils reads. If the section is missing or invalid, the list of lines is empty; this is not an error.
 */
#ifndef GPUBPF_WORKER_LINES_H
#define GPUBPF_WORKER_LINES_H

#include <stddef.h>
#include <stdint.h>

struct gpubpf_line_row;

struct gpubpf_lines {
	struct gpubpf_line_row *rows; /* allocated with malloc(), sorted by address */
	/*
	 * paths of source files as passed to the compiler, allocated with malloc(); only after
	 * gpubpf_lines_read_starts()
	 */
	char **files;
	size_t n, nfiles;
};

/* the first instruction of a source line */
struct gpubpf_line_start {
	uint64_t address;
	const char *file;
	uint32_t line;
};

/* Reads the lines of an ELF file. The function does not change `image`, and `image` may be freed before the lines. */
void gpubpf_lines_read(const void *image, size_t size, struct gpubpf_lines *lines);
/* Like gpubpf_lines_read(), but also reads the data that gpubpf_lines_starts() needs. */
void gpubpf_lines_read_starts(const void *image, size_t size, struct gpubpf_lines *lines);
/*
 * Lists the first instruction of each source line with a statement at an address in [from, to), sorted by address. A
 * line of an inlined function is listed for each inlined copy. The caller frees *starts; the file names in it belong to
 * `lines`. Returns 0 or -ENOMEM.
 */
int gpubpf_lines_starts(const struct gpubpf_lines *lines, uint64_t from, uint64_t to, struct gpubpf_line_start **starts,
			size_t *n);
/* Returns the source line of the instruction at an address, or 0 if it is unknown. */
uint32_t gpubpf_lines_at(const struct gpubpf_lines *lines, uint64_t address);
void gpubpf_lines_finish(struct gpubpf_lines *lines);

#endif
