// >>> section '.maps', map 'm': max_entries is 0; for type RINGBUF
#include <gpubpf/probe.h>

struct { __uint(type, BPF_MAP_TYPE_RINGBUF); } m SEC(".maps");
SEC("gpu/entry/*") int on(void *ctx) { bpf_map_lookup_elem(&m, &(__u64){ 0 }); return 0; }
