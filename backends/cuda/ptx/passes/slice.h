/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the ptx target: slices a module down to what one kernel needs, as a separate module. The cost of a twin
 * then does not grow with the number of kernels in the image. */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_PART_H
#define GPUBPF_BACKENDS_CUDA_PTX_PART_H

#include "backends/cuda/ptx/ir/ptx.h"

/* a module's top level, and the names there */
struct ptx_top {
	const struct ptx_module *module;
	uint32_t *nodes, nnodes; /* in the module's order */
	struct ptx_top_name {
		uint32_t token, node; /* node: index in nodes[] */
	} *names;                     /* sorted by name; a name may occur several times */
	uint32_t nnames;
};

int ptx_top_init(struct ptx_top *top, const struct ptx_module *module);
void ptx_top_finish(struct ptx_top *top);

/*
 * Returns a slice of the module in *part. It has all directives, the kernel of that short name, and the top-level nodes
 * that the kernel mentions, directly or through another needed function. Nodes keep the module's order, and tokens keep
 * their line there.
 * *text is malloc'd, and *part refers to it. Returns 0, -ENOMEM, or -ENOENT if there is no such kernel or its slice
 * parses differently from the module.
 */
int ptx_slice(const struct ptx_top *top, const char *kernel, char **text, struct ptx_module *part);

#endif
