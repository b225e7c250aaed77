/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The twin of an OpenCL C source: the source as it is and, right after the definition of each wanted
 * kernel K, a wrapper
 *
 *     kernel void gpubpf_twin_K(<the parameters of K>,
 *                               __global uchar *gpubpf_arena, ulong gpubpf_launch, ulong gpubpf_pid)
 *
 * that fills a struct gpubpf_env (maps/devlib.h), calls gpubpf_site_<i>() for the entry site, K, and
 * gpubpf_site_<j>() for the exit site. The site functions are defined by another piece of the program.
 *
 * A kernel that declares __local variables is not called: OpenCL leaves it to the implementation, and
 * PoCL 3.1 lets work-groups that run at the same time share them. Its wrapper holds the kernel's own body
 * once more, between the sites, with every return a jump to the exit site. So does that of a kernel with programs at
 * places of instructions (weave.h), or of functions (called.h).
 *
 * Line numbers of the source stay as they were (#line); those of the wrapper of the kernel whose first
 * site is i are GPUBPF_WRAP_LINE + i * GPUBPF_WRAP_LINES and up, so that a compiler's log tells which wrapper it
 * does not like. Each wrapper can be left out with -DGPUBPF_SKIP_<i>.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_WRITE_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_WRITE_H

#include "read.h"
#include "weave.h"

#define GPUBPF_WRAP_LINE 1000000000u
#define GPUBPF_WRAP_LINES 1024u
#define GPUBPF_WRAP_SITES ((INT32_MAX - GPUBPF_WRAP_LINE) / GPUBPF_WRAP_LINES)

/* one kernel to wrap: the sites on it, as indices in the job; UINT32_MAX: none */
struct gpubpf_wrap {
	const struct gpubpf_cl_kernel *kernel;
	uint32_t first;                 /* of all of its sites */
	uint32_t entry, exit, begin, end; /* begin, end: of blocks */
	/* [unit->nfunctions], NULL without places of instructions: those of each function that have a site, in the order
	 * of its events, and which functions are copied; the kernel's own body is in its wrapper */
	const struct cl_place **places;
	uint32_t *nplaces;
	bool *copied;
	struct cl_called *called;       /* likewise, of each function: the programs at its calls */
};

/* Write the twin's source to *text (malloc'd), wraps in the order of their places. 0 or -ENOMEM. */
int gpubpf_wrap_write(const struct gpubpf_cl_source *source, const struct gpubpf_cl_unit *unit,
		      const struct gpubpf_lower_job *job, const struct gpubpf_wrap *wraps, uint32_t nwraps,
		      char **text, size_t *size);

#endif
