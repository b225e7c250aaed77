// >>> calls helper 12 tail_call in a sub-program
// >>> try: make the tail call in the program itself
#include <gpubpf/probe.h>

int one(void *ctx);
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 2);
	__uint(key_size, sizeof(__u32));
	__array(values, int (void *));
} m SEC(".maps") = { .values = { [0] = (void *)&one } };
SEC("gpu/entry") int one(void *ctx) { return 1; }
static __noinline int go(void *ctx) { bpf_tail_call(ctx, &m, 0); return 0; }
SEC("gpu/entry/*") int on(void *ctx) { return go(ctx); }
