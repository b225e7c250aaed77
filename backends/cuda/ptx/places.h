/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places of a function's PTX at which probes stand: what inspect lists and splice edits, by one walk. Compilers
 * gather early returns in one ret; lanes that leave early never meet the others there, and must not begin to for the
 * sake of a probe. So a branch to where nothing stands before the ret, or a kernel's exit, is a place by itself.
 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_PLACES_H
#define GPUBPF_BACKENDS_CUDA_PTX_PLACES_H

#include "core/places.h"
#include "ptx.h"

struct ptx_place {
	enum gpubpf_site kind;
	uint32_t id;               /* among those of its kind in the function */
	uint32_t node;             /* the instruction or mark, of exits that which leaves; PTX_NONE: where the body begins, or
				    * runs off its end */
	uint32_t exit;             /* the ret or exit that it does: itself or, of a branch, the one that it goes to */
	uint32_t line;             /* by .loc, 0: there is none */
	uint32_t access;           /* which of the instruction's (access.h) */
	uint32_t loc;              /* of LINE: the .loc that says it */
};

/* Of a function that has a body, in the order of its text: *places is malloc'd. Of a kernel its entry and its exits; of
 * another function CALL, CALL_EXITs, and EXITs of the kernel that calls it; of both its instructions, and of
 * a kernel where its blocks begin and end, of these `kinds` (GPUBPF_TAKES). 0, -ENOMEM. */
int ptx_places(const struct ptx_module *module, uint32_t function, uint32_t kinds, struct ptx_place **places, uint32_t *n);

#define PTX_NAME_SIZE 256
/* The name of a place that has one (gpubpf_place_has_name()): of what is longer than `size` - 1 bytes, the end. Else "". */
void ptx_place_name(const struct ptx_module *module, const struct ptx_place *place, char *name, size_t size);

/* The node after this one in a function's text, PTX_NONE past its end. */
uint32_t ptx_next_in(const struct ptx_module *module, uint32_t function, uint32_t node);

#define PTX_FOR_EACH_NODE(m, function, node) \
	for (uint32_t node = (m)->nodes[function].child; node != PTX_NONE; node = ptx_next_in(m, function, node))

#endif
