// >>> section '.maps', map 'm': key_size is 0; for type HASH it must be 1 to 512
#include <gpubpf/probe.h>

struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 1); __type(value, __u64); } m SEC(".maps");
SEC("gpu/entry/*") int on(void *ctx) { bpf_map_lookup_elem(&m, &(__u64){ 0 }); return 0; }
