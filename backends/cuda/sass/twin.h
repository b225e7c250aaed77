/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The twin of a kernel as a cubin of its own: the kernel's sections, called after the twin, and what it needs of the
 * others. The words of the probes' c[0x3] are the twin's, under their names; addresses of the application's variables in
 * c[0x4] and in code are left for the agent to fill in.
 */
#ifndef GPUBPF_SASS_TWIN_H
#define GPUBPF_SASS_TWIN_H

#include "backends/cuda/wire/twin_format.h"
#include "core/target.h"
#include "graft.h"

/* an address that the agent stores into the twin before it loads it */
struct sass_binding {
	uint32_t symbol;           /* in the application's cubin: a variable */
	int64_t addend;
	uint64_t off;              /* of the bytes, in the twin */
	enum cuda_twin_part part;  /* and how many */
	uint32_t section;          /* of the application's cubin, that they are of */
};

struct sass_twin {
	struct gpubpf_blob cubin;  /* malloc'd */
	struct sass_binding *bindings; /* malloc'd */
	uint32_t nbindings;
};

/* Is all known that the image says of the kernel? 0; -EINVAL and the reason. */
int sass_twin_can_say(const struct sass_cubin *app, const struct sass_kernel *kernel, struct gpubpf_diag *diag);
/* -EINVAL and the reason; -ENOMEM. */
int sass_twin_write(const struct sass_cubin *app, const struct sass_kernel *kernel, const struct sass_code *code,
		    const struct sass_cubin *probes, const struct sass_grafted *grafted, struct sass_twin *twin,
		    struct gpubpf_diag *diag);
void sass_twin_finish(struct sass_twin *twin);

#endif
