/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the twin of a kernel as a separate cubin: the kernel's sections, renamed after the twin, and the parts of
 * others that it needs. The words of the probes' c[0x3] belong to the twin, under their names. The agent fills in
 * addresses of the application's variables, in c[0x4] and in code.
 *
 * Does:     selects sections and symbols, renumbers them, and lays out the file.
 * Before:   sass_patch_kernel() has written the code.
 * After:    a complete cubin, and a list of addresses that the agent fills in.
 * Requires: a known meaning of each attribute that the image has for the kernel.
 */
#ifndef GPUBPF_SASS_TWIN_H
#define GPUBPF_SASS_TWIN_H

#include "backends/cuda/wire/twin_format.h"
#include "core/target.h"
#include "patch.h"

/* an address that the agent stores into the twin before it loads the twin */
struct sass_binding {
	uint32_t symbol;           /* the variable in the application's cubin */
	int64_t addend;
	uint64_t off;              /* of the bytes in the twin */
	enum cuda_twin_part part;  /* which half of the address, or all of it */
	uint32_t section;          /* section of the application's cubin that the bytes belong to */
};

struct sass_twin {
	struct gpubpf_blob cubin;  /* malloc'd */
	struct sass_binding *bindings; /* malloc'd */
	uint32_t nbindings;
};

/* Are all attributes known that the image has for the kernel? 0; -EINVAL and the reason. */
int sass_twin_check_attrs(const struct sass_cubin *app, const struct sass_kernel *kernel, struct gpubpf_diag *diag);
/* -EINVAL and the reason; -ENOMEM. After success the caller calls sass_twin_finish(). */
int sass_twin_write(const struct sass_cubin *app, const struct sass_kernel *kernel, const struct sass_code *code,
		    const struct sass_cubin *probes, const struct sass_patched_code *grafted, struct sass_twin *twin,
		    struct gpubpf_diag *diag);
void sass_twin_finish(struct sass_twin *twin);

#endif
