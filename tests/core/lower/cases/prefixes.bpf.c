/* SPDX-License-Identifier: Apache-2.0 */
/* LPM keys of odd sizes. A bloom filter is queried with values on the stack, in another map and in read-only data. */
#include <gpubpf/probe.h>

struct prefix {
	__u32 length;
	__u8 data[7];
} __attribute__((packed));

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 20);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, __u64);
} prefixes SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 100);
	__uint(map_extra, 3);
	__type(value, struct prefix);
} set SEC(".maps");
GPUBPF_ARRAY(out, __u64, 8);
GPUBPF_ARRAY(others, struct prefix, 1);
const struct prefix fixed = { 16, { 1, 2 } };

SEC("gpu/entry/*")
int prefix(struct gpubpf_ctx *ctx)
{
	struct prefix p = { 8 + (ctx->thread_idx[0] & 7), { 1, 2, 3, 4, 5, 6, 7 } }, *other;
	__u64 one = 1, *value;
	__u32 zero = 0;

	gpubpf_add(&out, 0, bpf_map_update_elem(&prefixes, &p, &one, BPF_ANY) != 0);
	p.length = 56;
	value = bpf_map_lookup_elem(&prefixes, &p);
	if (value)
		__sync_fetch_and_add(value, 1);
	p.length = 57;
	gpubpf_add(&out, 1, bpf_map_lookup_elem(&prefixes, &p) != 0);
	gpubpf_add(&out, 3, bpf_map_push_elem(&set, &p, BPF_ANY) + bpf_map_peek_elem(&set, &p));
	other = bpf_map_lookup_elem(&others, &zero);
	if (other)
		gpubpf_add(&out, 4, bpf_map_peek_elem(&set, other) != 0);
	gpubpf_add(&out, 5, bpf_map_peek_elem(&set, (void *)&fixed) != 0);
	return 0;
}
