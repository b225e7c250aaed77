/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a write to the session's table of allocations, which is read-only. */
#include "../../case.h"

EXPECT("refused READONLY_MEM");

GPUBPF_ALLOCATIONS(made, 16);

SEC("gpu/entry/*")
int allocations_written(struct gpubpf_ctx *ctx)
{
	__u32 first = 0;
	struct gpubpf_allocation *a = bpf_map_lookup_elem(&made, &first);

	if (a)
		a->base = 1;
	return 0;
}
