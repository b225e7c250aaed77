/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the twin of a kernel as a separate cubin. The twin has the kernel's sections, renamed after the twin, and the
 * parts of shared sections that the kernel needs. It also has the probes' c[0x3], in which the agent finds words by
 * their symbols. The agent fills in addresses of the application's variables, in c[0x4] and in code.
 *
 * Does:     selects sections and symbols, renumbers them, and lays out the file.
 * Before:   sass_patch_kernel() has written the code.
 * After:    there is a complete cubin, and a list of the addresses that the agent fills in.
 * Requires: only known attributes of the kernel in .nv.info (sass_twin_check_attrs()).
 */
#ifndef GPUBPF_SASS_TWIN_H
#define GPUBPF_SASS_TWIN_H

#include "backends/cuda/wire/twin_format.h"
#include "core/target.h"
#include "patch.h"

/* an address that the agent stores into the twin before it loads the twin */
struct sass_binding {
	uint32_t symbol; /* index of the variable's symbol in the application's cubin */
	int64_t addend;
	uint64_t off; /* offset in bytes of the address in the file of the twin */
	/* part of the address that the agent stores: all of it, its low half or its high half */
	enum cuda_twin_part part;
	uint32_t section; /* index in the application's cubin of the section whose copy holds the address */
};

struct sass_twin {
	struct gpubpf_blob cubin;      /* malloc'd */
	struct sass_binding *bindings; /* malloc'd */
	uint32_t nbindings;
};

/* Checks that all attributes of the kernel in .nv.info and .nv.info.<kernel> are known. Returns 0, or -EINVAL with
 * the reason in *diag. */
int sass_twin_check_attrs(const struct sass_cubin *app, const struct sass_kernel *kernel, struct gpubpf_diag *diag);
/* Writes the twin. Returns 0; -EINVAL with the reason in *diag; -ENOMEM. After success the caller calls
 * sass_twin_finish(). */
int sass_twin_write(const struct sass_cubin *app, const struct sass_kernel *kernel, const struct sass_code *code,
		    const struct sass_cubin *probes, const struct sass_patched_code *patched, struct sass_twin *twin,
		    struct gpubpf_diag *diag);
void sass_twin_finish(struct sass_twin *twin);

#endif
