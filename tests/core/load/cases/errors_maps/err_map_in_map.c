// >>> section '.maps', map 'm': inner map is 0; for type HASH_OF_MAPS it must be given
#include <gpubpf/probe.h>

GPUBPF_MAP(m, 13, __u32, __u32, 1);
SEC("gpu/entry/*") int on(void *ctx) { bpf_map_lookup_elem(&m, &(__u64){ 0 }); return 0; }
