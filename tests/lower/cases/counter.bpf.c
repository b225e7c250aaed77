/* SPDX-License-Identifier: Apache-2.0 */
/* A counter: one add, which the assembler merges per warp. No local memory, no load of the constant. */
/* expect ptx 1 ^\s*(red|atom)\. */
/* expect ptx 0 \.local */
/* expect ptx 0 vote\.sync\.ballot */
/* expect spirv 1 OpAtomicIAdd */
/* expect spirv 0 OpVariable \S+ Function */
/* expect amdgpu 1 global_atomic_add */
/* expect amdgpu 0 scratch_store|buffer_store */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(counts, __u64, 1);

SEC("gpu/entry/*")
int count(void *ctx)
{
	__u64 *value;
	__u32 key = 0;

	value = bpf_map_lookup_elem(&counts, &key);
	if (value)
		__sync_fetch_and_add(value, 1);
	return 0;
}
