/* SPDX-License-Identifier: Apache-2.0 */
/* One call of a helper, for call.c and call_args.c. */
#ifndef GPUBPF_LOWER_LLVM_CALL_H
#define GPUBPF_LOWER_LLVM_CALL_H

#include "low.h"

struct call {
	struct low_frame *f;
	struct low *l;
	uint32_t pc;
	const struct gpubpf_helper *helper;
	const struct gpubpf_call_facts *facts;
	uint32_t map;                           /* index of the map for which code is being emitted */
	const struct gpubpf_map_layout *layout; /* the map's layout, for this call */
	LLVMValueRef temp[6];                   /* [register] private copy of the memory that the argument points to */
};

static inline const struct gpubpf_map *map_of(const struct call *c)
{
	return &c->l->job->unit->maps[c->map];
}

static inline LLVMValueRef get(const struct call *c, unsigned reg)
{
	return low_get(c->f, reg);
}

/* call_args.c */
/* Makes the memory of all arguments accessible as private memory. 0; -ENOMEM, or -EINVAL and a diagnostic. */
int low_prepare_args(struct call *c);
/* Appends to args what the library's function takes for the argument in `reg`; returns the number of values. */
unsigned low_pass(const struct call *c, unsigned reg, LLVMValueRef *args);
/* After the call: copies what the helper wrote from private memory to the arguments. */
void low_write_back(const struct call *c);
/* Sets a flag in this call's own copy of the map's layout. 0 or -ENOMEM. */
int low_set_layout_flag(struct call *c, uint32_t what);

#endif
