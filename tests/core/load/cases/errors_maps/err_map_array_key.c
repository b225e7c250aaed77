// >>> section '.maps', map 'm': key_size is 8; for type ARRAY it must be 4
#include <gpubpf/probe.h>

GPUBPF_MAP(m, BPF_MAP_TYPE_ARRAY, __u64, __u64, 1);
SEC("gpu/entry/*") int on(void *ctx) { bpf_map_lookup_elem(&m, &(__u64){ 0 }); return 0; }
