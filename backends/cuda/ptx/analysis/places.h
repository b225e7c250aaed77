/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the places of a function's PTX at which probes run. Both `inspect` and the pass
 * backends/cuda/ptx/passes/splice.c use this list.
 * Compilers merge early returns into one ret. A lane that branches there early does not wait for the other lanes, and a
 * probe must not make it wait. So a branch whose target begins with a ret, or with a kernel's exit, is a separate
 * place.
 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_PLACES_H
#define GPUBPF_BACKENDS_CUDA_PTX_PLACES_H

#include "core/model/places.h"
#include "backends/cuda/ptx/ir/ptx.h"

struct ptx_place {
	enum gpubpf_site kind;
	uint32_t id;     /* number of the place among the places of the same kind in the function */
	uint32_t node;   /* the instruction, mark or exiting branch; PTX_NONE for the beginning or end of the body */
	uint32_t exit;   /* the ret or exit: `node` itself, or the target of the branch `node` */
	uint32_t line;   /* source line by .loc; 0: unknown */
	uint32_t access; /* which access of the instruction, counted from 0 (access.h) */
	uint32_t loc;    /* for kind LINE: the .loc directive that names the line */
};

/*
 * Lists the places of a function with a body, in text order; *places is malloc'd. A kernel has places of the kinds
 * ENTRY and EXIT. A function that is not a kernel has places of the kinds CALL and CALL_EXIT. It also has an EXIT
 * wherever it ends the kernel that calls it. `kinds` (bits GPUBPF_SITE_BIT) selects additional kinds: single
 * instructions of kernels and functions, and the beginning and end of a kernel's blocks. Returns 0 or -ENOMEM.
 */
int ptx_places(const struct ptx_module *module, uint32_t function, uint32_t kinds, struct ptx_place **places, uint32_t *n);

#define PTX_NAME_SIZE 256
/*
 * Writes the name of the place, or "" if places of this kind have no name (gpubpf_place_has_name()). If the name
 * does not fit, writes its last `size` - 1 bytes.
 */
void ptx_place_name(const struct ptx_module *module, const struct ptx_place *place, char *name, size_t size);

/* Returns the node that follows `node` in the function's text, or PTX_NONE after the last node. */
uint32_t ptx_next_in(const struct ptx_module *module, uint32_t function, uint32_t node);

#define PTX_FOR_EACH_NODE(m, function, node) \
	for (uint32_t node = (m)->nodes[function].child; node != PTX_NONE; node = ptx_next_in(m, function, node))

#endif
