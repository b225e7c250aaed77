/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of many types; the test shows and changes their elements. */
#include <gpubpf/probe.h>

struct place {
	__s32 x, y;
};

GPUBPF_HASH(hash, __u32, __s64, 4);
GPUBPF_ARRAY(array, float, 4);
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} copies SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, struct place);
} place_copies SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 4);
	__type(value, struct place);
} seen SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 4);
	__type(value, struct place);
} places SEC(".maps");
GPUBPF_SCRATCH GPUBPF_ARRAY(used_once, __u64, 1);
GPUBPF_RINGBUF(ring, struct place, 4096);
__u64 threshold = 3;
struct place at = { 1, 2 };
__u32 limits[3] = { 4, 5, 6 };
const volatile int chosen = 7;

enum mode { READ, WRITE = 5 };
struct access {
	enum mode mode;
	char unit[8];
	struct place at;
};
GPUBPF_HASH(accesses, struct access, enum mode, 4);
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__uint(key_size, 3);
	__uint(value_size, 1);
} untyped SEC(".maps");

SEC("gpu/exit/none")
int use_all(struct gpubpf_ctx *ctx)
{
	struct place place = at;
	__u32 key = 0;
	__u64 *value = bpf_map_lookup_elem(&copies, &key);

	if (value && threshold > chosen && limits[1])
		*value = *(__u64 *)&place;
	bpf_map_lookup_elem(&used_once, &key);
	bpf_map_lookup_elem(&hash, &key);
	bpf_map_lookup_elem(&array, &key);
	bpf_map_lookup_elem(&place_copies, &key);
	bpf_map_push_elem(&seen, &place, 0);
	bpf_map_pop_elem(&places, &place);
	bpf_ringbuf_output(&ring, &place, sizeof(place), 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
