/* SPDX-License-Identifier: Apache-2.0 */
/* One array that Linux kernel programs, GPU programs and user space share. */
#include <gpubpf/probe.h>

struct {
	__uint(type, BPF_MAP_TYPE_GPU_KERNEL_SHARED_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");
GPUBPF_ARRAY(seen, __u64, 2);
GPUBPF_HASH(carried, __u32, __u64, 16);
GPUBPF_ARRAY(alone, __u64, 1);
__u64 threads;

static __always_inline void add(void *map, __u32 key, __u64 n)
{
	__u64 *value = bpf_map_lookup_elem(map, &key);

	if (value)
		__sync_fetch_and_add(value, n);
}

SEC("uprobe")
int in_linux(void *ctx)
{
	__u32 zero = 0;
	__u64 none = 0;

	add(&counts, 0, 1024);
	add(&counts, 1, 1);
	bpf_map_update_elem(&carried, &zero, &none, BPF_NOEXIST);
	add(&carried, 0, 1);
	return 0;
}

SEC("gpu/entry/step_*")
int on_entry(struct gpubpf_ctx *ctx)
{
	__u32 zero = 0;
	__u64 none = 0;
	__u64 *calls = bpf_map_lookup_elem(&counts, &(__u32){ 1 });

	bpf_map_update_elem(&carried, &zero, &none, BPF_NOEXIST);
	add(&carried, 0, 1);
	if (ctx->global_linear || !calls)
		return 0;
	/* the number of calls that the Linux kernel's program has counted so far */
	bpf_map_update_elem(&seen, &zero, calls, BPF_ANY);
	return 0;
}

SEC("gpu/exit/step_*")
int on_gpu(struct gpubpf_ctx *ctx)
{
	add(&counts, 0, 1);
	add(&alone, 0, 1);
	__sync_fetch_and_add(&threads, 1);
	return 0;
}
