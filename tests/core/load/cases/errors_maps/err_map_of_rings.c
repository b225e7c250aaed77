// >>> section '.maps', map 'm': elements may be maps with keys, queues, stacks and bloom filters
#include <gpubpf/probe.h>

struct ring { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 4096); };
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} m SEC(".maps");
SEC("gpu/entry/*") int on(void *ctx) { bpf_map_lookup_elem(&m, &(__u64){ 0 }); return 0; }
