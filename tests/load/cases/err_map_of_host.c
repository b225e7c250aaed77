// A map of a type that no GPU has may be the host programs', not a GPU program's.
// >>> section 'gpu/entry/*', program 'ours': uses map 'stacks' of type 7, which no GPU has
// >>> at line 15
#include <gpubpf/probe.h>

struct {
	__uint(type, 7 /* STACK_TRACE */);
	__uint(key_size, 4);
	__uint(value_size, 8);
	__uint(max_entries, 16);
} stacks SEC(".maps");

SEC("uprobe/libc.so.6:malloc") int on_malloc(void *ctx) { return 0; }
SEC("gpu/entry/*") int ours(void *ctx) {
	return bpf_map_lookup_elem(&stacks, &(__u32){ 0 }) != 0;
}
