/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the ptx target: what one kernel needs of a module, as a module by itself, so that what is made of one of thousands
 * does not grow with them. */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_PART_H
#define GPUBPF_BACKENDS_CUDA_PTX_PART_H

#include "ptx.h"

/* a module's top level, and the names there */
struct ptx_top {
	const struct ptx_module *module;
	uint32_t *nodes, nnodes;     /* in the module's order */
	struct ptx_top_name {
		uint32_t token, node;    /* node: index in nodes[] */
	} *names;                    /* sorted by what they say; one may be there several times */
	uint32_t nnames;
};

int ptx_top_init(struct ptx_top *top, const struct ptx_module *module);
void ptx_top_finish(struct ptx_top *top);

/*
 * All directives, the kernel of that short name, and whatever has a name that is written in it or in a function that comes
 * with it; in the order of the module, each token with its line there. *text is malloc'd, and *part refers to it. -ENOENT:
 * there is no such kernel, or its part would not be read as in the module.
 */
int ptx_part(const struct ptx_top *top, const char *kernel, char **text, struct ptx_module *part);

#endif
