/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the arguments that describe a map to the device library's operations. */
#include "ir.h"

unsigned low_map_args(struct low *l, const struct gpubpf_map_layout *m, LLVMValueRef *args)
{
	args[0] = low_const32(l, m->flags);
	args[1] = low_const32(l, m->key_size);
	args[2] = low_const32(l, m->value_size);
	args[3] = low_const32(l, m->max_entries);
	args[4] = low_const32(l, m->copies);
	args[5] = low_const(l, m->ctl);
	args[6] = low_const(l, m->data);
	args[7] = low_const(l, m->stride);
	args[8] = low_const(l, m->copy_stride);
	return 9;
}

unsigned low_unit_map(struct low *l, LLVMValueRef env, uint32_t map, const struct gpubpf_map_layout *layout,
		      LLVMValueRef *args)
{
	unsigned n = low_map_args(l, layout, args);
	LLVMValueRef of[] = { env, low_const32(l, map) };

	if (layout->flags & GPUBPF_LAYOUT_PLACED) {
		args[LOW_CTL - 1] = low_call(l, "gpubpf_external_ctl", of, 2);
		args[LOW_DATA - 1] = low_call(l, "gpubpf_external_data", of, 2);
	}
	return n;
}
