/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places of a function's PTX at which probes run. inspect lists them and splice edits them, both by this walk.
 * Compilers merge early returns into one ret. Lanes that leave early do not wait for the others there, and a probe must
 * not make them wait. So a branch to a ret, or to a kernel's exit, with no instruction before it is a separate place.
 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_PLACES_H
#define GPUBPF_BACKENDS_CUDA_PTX_PLACES_H

#include "core/model/places.h"
#include "backends/cuda/ptx/ir/ptx.h"

struct ptx_place {
	enum gpubpf_site kind;
	uint32_t id;     /* number among the places of its kind in the function */
	uint32_t node;   /* the instruction or mark, or the one that exits; PTX_NONE: top or end of the
				    * body */
	uint32_t exit;   /* the ret or exit: the node itself, or the target of a branch */
	uint32_t line;   /* by .loc; 0: unknown */
	uint32_t access; /* index of the instruction's access (access.h) */
	uint32_t loc;    /* LINE: the .loc that names the line */
};

/* Lists the places of a function with a body, in the order of its text; *places is malloc'd. A kernel has ENTRY and
 * EXITs. Another function has CALL, CALL_EXITs, and EXITs of the kernel that calls it. `kinds` (GPUBPF_SITE_BIT)
 * selects further places: single instructions of kernels and functions, and the begin and end of a kernel's blocks.
 * Returns 0 or -ENOMEM. */
int ptx_places(const struct ptx_module *module, uint32_t function, uint32_t kinds, struct ptx_place **places, uint32_t *n);

#define PTX_NAME_SIZE 256
/* Writes the name of a place that has one (gpubpf_place_has_name()), else "". If the name is longer, it writes the last
 * `size` - 1 bytes. */
void ptx_place_name(const struct ptx_module *module, const struct ptx_place *place, char *name, size_t size);

/* Returns the node after this one in a function's text, or PTX_NONE past its end. */
uint32_t ptx_next_in(const struct ptx_module *module, uint32_t function, uint32_t node);

#define PTX_FOR_EACH_NODE(m, function, node) \
	for (uint32_t node = (m)->nodes[function].child; node != PTX_NONE; node = ptx_next_in(m, function, node))

#endif
