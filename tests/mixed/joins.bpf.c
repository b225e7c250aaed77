/* SPDX-License-Identifier: Apache-2.0 */
/* An object that joins a session of attach.bpf.c. It has one map of each kind that needs memory in the arena. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(later, __u64, 2);
GPUBPF_HASH(blocks, __u64, __u64, 64);
GPUBPF_ARRAY(settings, __u64, 1);

struct launched {
	__u64 by;
};

GPUBPF_RINGBUF(launches, struct launched, 65536);

__u64 begun = 1000;

SEC("gpu/entry/add_*")
int joined(struct gpubpf_ctx *ctx)
{
	__u64 block = ctx->block_idx[0], none = 0, *n;
	struct launched record = { .by = 7 };

	gpubpf_add(&later, 0, 1);
	__sync_fetch_and_add(&begun, 1);
	n = bpf_map_lookup_elem(&blocks, &block);
	if (!n) {
		bpf_map_update_elem(&blocks, &block, &none, BPF_NOEXIST);
		n = bpf_map_lookup_elem(&blocks, &block);
	}
	if (n)
		__sync_fetch_and_add(n, 1);
	if (!ctx->global_linear) {
		__u32 zero = 0;

		n = bpf_map_lookup_elem(&settings, &zero);
		if (n)
			record.by = *n;
		bpf_ringbuf_output(&launches, &record, sizeof(record), 0);
		bpf_printk("launched by %llu", record.by);
	}
	return 0;
}

SEC("gpu/exit/add_*")
int joined_left(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&later, 1, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
