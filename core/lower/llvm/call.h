/* SPDX-License-Identifier: Apache-2.0 */
/* Describes one helper call while it is lowered, for call.c and call_args.c. */
#ifndef GPUBPF_LOWER_LLVM_CALL_H
#define GPUBPF_LOWER_LLVM_CALL_H

#include "low.h"

struct call {
	struct low_frame *f;
	struct low *l;
	uint32_t pc;
	const struct gpubpf_helper *helper;
	const struct gpubpf_call_facts *facts;
	uint32_t map;                           /* index of the map for which code is emitted */
	const struct gpubpf_map_layout *layout; /* layout of that map, perhaps with flags for this call only */
	/* [register]: private copy of the memory to which the argument points, or NULL */
	LLVMValueRef temp[6];
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
/*
 * Emits code that makes the memory of all arguments available as private memory. Returns 0, -ENOMEM, or -EINVAL and a
 * diagnostic.
 */
int low_prepare_args(struct call *c);
/* Stores in args the values that the library's function takes for the argument in `reg`. Returns their number. */
unsigned low_pass(const struct call *c, unsigned reg, LLVMValueRef *args);
/* Emits code after the call that copies results of the helper from private copies to the arguments' memory. */
void low_write_back(const struct call *c);
/* Sets a flag in this call's own copy of the map's layout. Returns 0 or -ENOMEM. */
int low_set_layout_flag(struct call *c, uint32_t what);

#endif
