// gpubpf does not load programs for user space and the Linux kernel, nor their maps of types that GPUs do not support.
// >>> note: on_exit (kprobe/do_exit) is left to the Linux kernel
// >>> note: map devices is left to the Linux kernel: GPUs do not support its type 14
// >>> note: map rings is left to the Linux kernel: GPUs do not support its type 12 with such elements
// >>> host: on_malloc
// >>> host: on_exit
// >>> map 0 counts ARRAY
// >>> prog 0 ours
// !!! prog 1
#include <gpubpf/probe.h>

GPUBPF_ARRAY(counts, __u64, 1);
struct {
	__uint(type, 14 /* DEVMAP */);
	__uint(key_size, 4);
	__uint(value_size, 4);
	__uint(max_entries, 16);
} devices SEC(".maps");

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} rings SEC(".maps");

SEC("uprobe/libc.so.6:malloc") int on_malloc(void *ctx) { return bpf_map_lookup_elem(&devices, &(__u32){ 0 }) != 0; }
SEC("kprobe/do_exit") int on_exit(void *ctx) { return 0; }
SEC("gpu/entry/*") int ours(void *ctx) { gpubpf_add(&counts, 0, 1); return 0; }
