// Only maps of the Linux kernel can be pinned; a note says so.
// >>> note: map counts is not pinned
// >>> map 0 counts ARRAY
#include <gpubpf/probe.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} counts SEC(".maps");
SEC("gpu/entry/*") int use(void *ctx) { gpubpf_add(&counts, 0, 1); return 0; }
