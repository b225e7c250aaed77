// The prototype of the inner maps becomes one more map after the others; it has no symbol in the object.
// >>> map 0 first ARRAY key 4 value 8 max 2 flags 0x0 object 0
// >>> map 1 outer ARRAY_OF_MAPS key 4 value 4 max 3 flags 0x0 object 0
// >>> map 2 outer.inner ARRAY key 4 value 8 max 2 flags 0x0 object 0
#include <gpubpf/probe.h>

struct inner { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 2); __type(key, __u32); __type(value, __u64); };
struct inner first SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 3);
	__type(key, __u32);
	__array(values, struct inner);
} outer SEC(".maps") = { .values = { [2] = &first } };
SEC("gpu/entry/*") int on(void *ctx) { bpf_map_lookup_elem(&outer, &(__u32){ 0 }); return 0; }
