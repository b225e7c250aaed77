/* SPDX-License-Identifier: Apache-2.0 */
/* bpftime's section for a program that needs no kernel of an application. */
#include <gpubpf/probe.h>

GPUBPF_HASH(seen, __u64, __u64, 64);

SEC("kprobe/__directly_run") int cuda__run(void *ctx)
{
	__u64 x, y, z, one = 1;

	bpf_get_thread_idx(&x, &y, &z);
	bpf_map_update_elem(&seen, &x, &one, BPF_ANY);
	return 5;
}

char LICENSE[] SEC("license") = "GPL";
