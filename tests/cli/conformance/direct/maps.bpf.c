/* SPDX-License-Identifier: Apache-2.0 */
/* Maps, records and prints work in a direct run as in every other program. */
#include "../case.h"

EXPECT("run");
EXPECT("launch 2,1,1 32,1,1");
EXPECT("data 512");
EXPECT("entries seen 8");
EXPECT("map seen[3] 8");
EXPECT("records events 64");
EXPECT("print 1 thread 5 has 5");
EXPECT("result 1");

GPUBPF_HASH(seen, __u64, __u64, 16);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} events SEC(".maps");

SEC("gpu/run/maps")
int maps(struct gpubpf_ctx *ctx)
{
	__u64 n = ctx->global_linear, key = n & 7, zero = 0, *word = gpubpf_data(n * 8, 8), *count;

	bpf_map_update_elem(&seen, &key, &zero, BPF_NOEXIST);
	count = bpf_map_lookup_elem(&seen, &key);
	if (count)
		__sync_fetch_and_add(count, 1);
	if (!word)
		return 0;
	bpf_ringbuf_output(&events, word, 8, 0);
	if (n == 5)
		bpf_printk("thread %llu has %llu", n, *word);
	return 1;
}
