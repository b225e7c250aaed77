// >>> section '.maps', map 'm': key_size is 513; for type HASH it must be 1 to 512
#include <gpubpf/probe.h>

struct key { char s[513]; };
GPUBPF_MAP(m, BPF_MAP_TYPE_HASH, struct key, __u64, 1);
SEC("gpu/entry/*") int on(void *ctx) { bpf_map_lookup_elem(&m, &(__u64){ 0 }); return 0; }
