// >>> section '.maps', map 'm': a slot holds a program that is not for a GPU
#include <gpubpf/probe.h>

int one(void *ctx), two(void *ctx);
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 2);
	__uint(key_size, sizeof(__u32));
	__array(values, int (void *));
} m SEC(".maps") = { .values = { [0] = (void *)&one, [1] = (void *)&two } };
SEC("gpu/entry") int one(void *ctx) { return 1; }
SEC("?gpu/entry") int two(void *ctx) { return 1; }
SEC("gpu/entry/*") int on(void *ctx) { bpf_tail_call(ctx, &m, 1); return 0; }
