// >>> section '.maps', map 'm': value_size is 67108865; for type HASH it must be
#include <gpubpf/probe.h>

struct value { char s[67108865]; };
GPUBPF_MAP(m, BPF_MAP_TYPE_HASH, __u32, struct value, 1);
SEC("gpu/entry/*") int on(void *ctx) { bpf_map_lookup_elem(&m, &(__u64){ 0 }); return 0; }
