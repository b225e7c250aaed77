/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of the Linux kernel and of the GPU tail-call through separate program arrays, and count in one shared array.
 */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(steps, __u64, 4);

int on_gpu_then(void *ctx), on_host_then(void *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__array(values, int(void *));
} of_gpu SEC(".maps") = { .values = { (void *)&on_gpu_then } }, of_host SEC(".maps") = { .values = { (void *)&on_host_then } };

static __always_inline int add(__u32 key)
{
	__u64 *value = bpf_map_lookup_elem(&steps, &key);

	if (value)
		__sync_fetch_and_add(value, 1);
	return 0;
}

SEC("gpu/exit")
int on_gpu_then(void *ctx)
{
	return add(1);
}

SEC("gpu/exit/step_*")
int on_gpu(void *ctx)
{
	bpf_tail_call(ctx, &of_gpu, 0);
	return add(0);
}

SEC("uprobe")
int on_host_then(void *ctx)
{
	return add(3);
}

SEC("uprobe")
int on_host(void *ctx)
{
	bpf_tail_call(ctx, &of_host, 0);
	return add(2);
}
