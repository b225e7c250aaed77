/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the twin of an OpenCL C source: the unchanged source with wrappers. Each probed kernel K has a wrapper
 * directly after its definition:
 *
 *     kernel void gpubpf_twin_K(<the parameters of K>,
 *                               __global uchar *gpubpf_arena, ulong gpubpf_launch, ulong gpubpf_pid)
 *
 * The wrapper fills a struct gpubpf_env (maps/device/devlib.h). It calls gpubpf_site_<i>() for the entry site, then K,
 * then gpubpf_site_<j>() for the exit site. The site functions, which run the BPF programs, are defined in another
 * source of the linked OpenCL program.
 *
 * The wrapper does not call a kernel that declares __local variables. In OpenCL the behaviour of such a call is
 * implementation-defined, and in PoCL 3.1 concurrent work-groups then share these variables. Such a wrapper repeats the
 * kernel's body between the calls of the sites, and each return becomes a jump to the exit site. The wrapper also
 * repeats the body if BPF programs run at places of instructions (weave.h) or functions (called.h).
 *
 * #line directives keep the source's line numbers. In the wrapper of the kernel whose first site is i, line numbers
 * begin at GPUBPF_WRAP_LINE + i * GPUBPF_WRAP_LINES. A compiler's log thus shows which wrapper the compiler rejects.
 * The option -DGPUBPF_SKIP_<i> leaves out this wrapper.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_WRITE_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_WRITE_H

#include "backends/spirv/opencl_c/unit.h"
#include "weave.h"

#define GPUBPF_WRAP_LINE 1000000000u
#define GPUBPF_WRAP_LINES 1024u
#define GPUBPF_WRAP_SITES ((INT32_MAX - GPUBPF_WRAP_LINE) / GPUBPF_WRAP_LINES)

/* A kernel to wrap. Its sites are indices in the job; UINT32_MAX: no site. */
struct gpubpf_wrap {
	const struct gpubpf_cl_kernel *kernel;
	uint32_t first_site;              /* the lowest index of the kernel's sites */
	uint32_t entry, exit, begin, end; /* sites at the kernel's entry and exit, and at the begin and end of blocks */
	/*
	 * [unit->nfunctions]: the function's places that have a site (in the order of its events), their number, and
	 * whether the twin copies the function. NULL if no place in the kernel's code is probed. The body of the kernel
	 * itself is part of the wrapper and not a copy.
	 */
	const struct cl_place **places;
	uint32_t *nplaces;
	bool *copied;
	struct cl_call_sites *called; /* [unit->nfunctions]: the sites at calls of the function */
};

/*
 * Write the twin's source to *text, which the caller frees, and its size in bytes to *size. `wraps` must be sorted by
 * offset in the source. Returns 0 or -ENOMEM.
 */
int gpubpf_wrap_write(const struct gpubpf_cl_source *source, const struct gpubpf_cl_unit *unit,
		      const struct gpubpf_lower_job *job, const struct gpubpf_wrap *wraps, uint32_t nwraps, char **text,
		      size_t *size);

#endif
