/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the threads of vector_add by process, and sums up their run time. The program uses only terms of libbpf:
 * kprobe and kretprobe, struct pt_regs, and map definitions in full. So it looks like any other BPF program. The option
 * --attach attaches it to other kernels.
 */
#include <gpubpf/probe.h>

struct calls {
	__u64 entered, left;
	__u64 ns;             /* sum of the run times of all threads */
	__u64 elements;       /* largest value of the kernel's argument n */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct calls);
} calls_by_pid SEC(".maps");

static __always_inline struct calls *calls_of(__u32 pid)
{
	struct calls *calls = bpf_map_lookup_elem(&calls_by_pid, &pid), none = {};

	if (calls)
		return calls;
	bpf_map_update_elem(&calls_by_pid, &pid, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&calls_by_pid, &pid);
}

SEC("kprobe/vector_add")
int cuda__entered(struct pt_regs *ctx)
{
	struct calls *calls = calls_of(bpf_get_current_pid_tgid() >> 32);
	__u32 n = PT_REGS_PARM4(ctx);

	if (!calls)
		return 0;
	gpubpf_count(&calls->entered, 1);
	if (n > calls->elements)
		calls->elements = n; /* all threads of a launch write the same value */
	/* The entry subtracts its time, and the exit adds its time. So the sum is the time between the two. */
	gpubpf_count(&calls->ns, -bpf_ktime_get_ns());
	return 0;
}

SEC("kretprobe/vector_add")
int cuda__left(struct pt_regs *ctx)
{
	struct calls *calls = calls_of(bpf_get_current_pid_tgid() >> 32);

	if (!calls)
		return 0;
	gpubpf_count(&calls->left, 1);
	gpubpf_count(&calls->ns, bpf_ktime_get_ns());
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
