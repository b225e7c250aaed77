/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the twin of an OpenCL C source: the unchanged source with wrappers. Each wanted kernel K gets one, right after
 * its definition.
 *
 *     kernel void gpubpf_twin_K(<the parameters of K>,
 *                               __global uchar *gpubpf_arena, ulong gpubpf_launch, ulong gpubpf_pid)
 *
 * The wrapper fills a struct gpubpf_env (maps/device/devlib.h) and calls gpubpf_site_<i>() for the entry site, K, and
 * gpubpf_site_<j>() for the exit site. Another piece of the program defines the site functions.
 *
 * The wrapper does not call a kernel that declares __local variables: OpenCL leaves the result to the implementation,
 * and PoCL 3.1 lets concurrent work-groups share these variables. Such a wrapper repeats the kernel's body between the
 * sites, and each return becomes a jump to the exit site. The same holds for a kernel with programs at places of
 * instructions (weave.h) or functions (called.h).
 *
 * #line directives keep the source's line numbers. The wrapper of the kernel whose first site is i has the line numbers
 * from GPUBPF_WRAP_LINE + i * GPUBPF_WRAP_LINES on. A compiler's log thus shows which wrapper it rejects.
 * -DGPUBPF_SKIP_<i> leaves out a wrapper.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_WRITE_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_WRITE_H

#include "backends/spirv/opencl_c/unit.h"
#include "weave.h"

#define GPUBPF_WRAP_LINE 1000000000u
#define GPUBPF_WRAP_LINES 1024u
#define GPUBPF_WRAP_SITES ((INT32_MAX - GPUBPF_WRAP_LINE) / GPUBPF_WRAP_LINES)

/* one kernel to wrap; its sites are indices in the job, UINT32_MAX: none */
struct gpubpf_wrap {
	const struct gpubpf_cl_kernel *kernel;
	uint32_t first_site;              /* the lowest of all its sites */
	uint32_t entry, exit, begin, end; /* begin, end: probes at the begin and end of blocks */
	/* [unit->nfunctions], NULL without places at instructions. For each function: its places that have a site, in
	 * the order of its events, their number, and whether the function is copied. The wrapper holds the kernel's own
	 * body. */
	const struct cl_place **places;
	uint32_t *nplaces;
	bool *copied;
	struct cl_call_sites *called; /* [unit->nfunctions]: the programs at calls of each function */
};

/* Write the twin's source to *text (malloc'd); wraps are sorted by place in the source. 0 or -ENOMEM. */
int gpubpf_wrap_write(const struct gpubpf_cl_source *source, const struct gpubpf_cl_unit *unit,
		      const struct gpubpf_lower_job *job, const struct gpubpf_wrap *wraps, uint32_t nwraps, char **text,
		      size_t *size);

#endif
