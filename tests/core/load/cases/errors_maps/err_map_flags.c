// >>> section '.maps', map 'm': map_flags has 0x4000
#include <gpubpf/probe.h>

struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 1); __type(key, __u32); __type(value, __u64); __uint(map_flags, 0x4000); } m SEC(".maps");
SEC("gpu/entry/*") int on(void *ctx) { bpf_map_lookup_elem(&m, &(__u64){ 0 }); return 0; }
