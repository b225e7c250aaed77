// Linux kernel programs may use a map type that GPUs do not support; GPU programs may not.
// >>> section 'gpu/entry/*', program 'ours': uses map 'devices' of type 14, which GPUs do not support
// >>> at line 15
#include <gpubpf/probe.h>

struct {
	__uint(type, 14 /* DEVMAP */);
	__uint(key_size, 4);
	__uint(value_size, 4);
	__uint(max_entries, 16);
} devices SEC(".maps");

SEC("uprobe/libc.so.6:malloc") int on_malloc(void *ctx) { return 0; }
SEC("gpu/entry/*") int ours(void *ctx) {
	return bpf_map_lookup_elem(&devices, &(__u32){ 0 }) != 0;
}
