// >>> map 'm': map type isn't specified
// >>> try: see gpubpf-map(8)
#include <gpubpf/probe.h>

struct { __uint(max_entries, 1); } m SEC(".maps");
SEC("gpu/entry/*") int on(void *ctx) { bpf_map_lookup_elem(&m, &(__u64){ 0 }); return 0; }
