/* SPDX-License-Identifier: Apache-2.0 */
/* Tests external maps: the host sees the writes of a running GPU kernel, and the kernel sees the host's writes. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(beats, __u64, 1);
GPUBPF_ARRAY(order, __u64, 1);
GPUBPF_HASH(named, __u32, __u64, 16);
GPUBPF_ARRAY(heard, __u64, 2);

#ifdef MEM /* MEM: run at each memory access, on backends that have such places */
SEC("gpu/mem/spin")
#else
SEC("gpu/entry/spin")
#endif
int at(struct gpubpf_ctx *ctx)
{
	__u32 zero = 0, one = 1, name = 77;
	__u64 *beat = bpf_map_lookup_elem(&beats, &zero), *said = bpf_map_lookup_elem(&order, &zero);
	__u64 *first = bpf_map_lookup_elem(&heard, &zero), *second = bpf_map_lookup_elem(&heard, &one), *of;

	if (!beat || !said || !first || !second)
		return 0;
	__sync_fetch_and_add(beat, 1);
	if (*said)
		*first = *said;
	of = bpf_map_lookup_elem(&named, &name);
	if (of)
		*second = *of;
	return 0;
}

char _license[] SEC("license") = "GPL";
