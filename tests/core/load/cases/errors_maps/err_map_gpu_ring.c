// >>> section '.maps', map 'm': value_size is 0; for type GPU_RINGBUF it must be
#include <gpubpf/probe.h>

struct { __uint(type, BPF_MAP_TYPE_GPU_RINGBUF); __uint(max_entries, 1); __type(key, __u32); } m SEC(".maps");
SEC("gpu/entry/*") int on(void *ctx) { bpf_map_lookup_elem(&m, &(__u64){ 0 }); return 0; }
