// >>> section '.maps', map 'm': map type 999 is unknown; known are HASH (1), ARRAY (2)
#include <gpubpf/probe.h>

GPUBPF_MAP(m, 999, __u32, __u64, 1);
SEC("gpu/entry/*") int on(void *ctx) { bpf_map_lookup_elem(&m, &(__u64){ 0 }); return 0; }
