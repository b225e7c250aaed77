// >>> section '.maps', map 'm': a slot is past its end
#include <gpubpf/probe.h>

int one(void *ctx);
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 2);
	__uint(key_size, sizeof(__u32));
	__array(values, int (void *));
} m SEC(".maps") = { .values = { [2] = (void *)&one } };
SEC("gpu/entry") int one(void *ctx) { return 1; }
SEC("gpu/entry/*") int on(void *ctx) { bpf_tail_call(ctx, &m, 1); return 0; }
