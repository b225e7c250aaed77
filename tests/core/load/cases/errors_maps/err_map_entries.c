// >>> section '.maps', map 'm': max_entries is 0; for type HASH it must be 1 to 1073741824
#include <gpubpf/probe.h>

GPUBPF_MAP(m, BPF_MAP_TYPE_HASH, __u32, __u64, 0);
SEC("gpu/entry/*") int on(void *ctx) { bpf_map_lookup_elem(&m, &(__u64){ 0 }); return 0; }
