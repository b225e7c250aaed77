// A program that is only a tail call's target names no kernel. The load merges each program with its targets into one.
// >>> map 0 jumps PROG_ARRAY key 4 value 4 max 2 flags 0x0 object 0
// >>> prog 0 one section gpu/entry pattern  site entry
// >>> prog 1 first section gpu/entry/k pattern k site entry
// >>> func first at 0
// >>> func no_tail_call at
// >>> func one at
// >>> call #525
// !!! call #12
// !!! note:
#include <gpubpf/probe.h>

int one(void *ctx);
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 2);
	__uint(key_size, sizeof(__u32));
	__array(values, int (void *));
} jumps SEC(".maps") = { .values = { [1] = (void *)&one } };
SEC("gpu/entry") int one(void *ctx) { return 1; }
SEC("gpu/entry/k") int first(void *ctx) { bpf_tail_call(ctx, &jumps, 1); return 0; }
