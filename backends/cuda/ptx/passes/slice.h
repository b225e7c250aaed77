/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reduces a module to the parts that one kernel needs, as a separate module. The time to make a twin then does not grow
 * with the number of kernels in the image.
 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_SLICE_H
#define GPUBPF_BACKENDS_CUDA_PTX_SLICE_H

#include "backends/cuda/ptx/ir/ptx.h"

/* top-level nodes of a module, and an index of their names */
struct ptx_top {
	const struct ptx_module *module;
	uint32_t *nodes, nnodes; /* top-level nodes in the module's order */
	struct ptx_top_name {
		uint32_t token, node; /* token of the name; index in `nodes` of the node that declares it */
	} *names;                     /* sorted by name; a name may occur several times */
	uint32_t nnames;
};

int ptx_top_init(struct ptx_top *top, const struct ptx_module *module);
void ptx_top_finish(struct ptx_top *top);

/*
 * Makes a slice of the module in *part. The slice has all directives, the kernel with that short name, and the
 * top-level nodes that the kernel mentions, directly or through other functions. Nodes keep the module's order, and
 * tokens keep the module's line numbers. Returns 0 or -ENOMEM. Returns -ENOENT if there is no such kernel, or if the
 * slice parses differently from the module. The text is malloc'd and must live as long as *part.
 */
int ptx_slice(const struct ptx_top *top, const char *kernel, char **text, struct ptx_module *part);

#endif
