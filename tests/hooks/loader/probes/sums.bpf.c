/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU kernel's program, a uprobe in the Linux kernel and a thread of the loader add to the same word. */
#include "../../../core/load/ints.h"

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, 1024 /* BPF_F_MMAPABLE */);
	__type(key, __u32);
	__type(value, __u64);
} sum SEC(".maps");

static __always_inline int add(void)
{
	__u32 key = 0;
	__u64 *value = bpf_map_lookup_elem(&sum, &key);

	if (value)
		__sync_fetch_and_add(value, 1);
	return 0;
}

SEC("kprobe/step_one")
int cuda__add(void *ctx)
{
	return add();
}

SEC("uprobe")
int on_host(void *ctx)
{
	return add();
}

char LICENSE[] SEC("license") = "GPL";
