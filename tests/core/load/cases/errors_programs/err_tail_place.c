// >>> program 'on': makes tail calls through map m, which holds program one of section 'gpu/exit', a section of another kind
// >>> try: put both programs into sections of the same kind
#include <gpubpf/probe.h>

int one(void *ctx);
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 2);
	__uint(key_size, sizeof(__u32));
	__array(values, int (void *));
} m SEC(".maps") = { .values = { [0] = (void *)&one } };
SEC("gpu/exit") int one(void *ctx) { return 1; }
SEC("gpu/entry/*") int on(void *ctx) { bpf_tail_call(ctx, &m, 0); return 0; }
