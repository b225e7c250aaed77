/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts threads of vector_add by process, and their total run time. The program uses only libbpf's own terms (kprobe
 * and kretprobe, struct pt_regs, map definitions written out), so it reads like any other BPF program. --attach
 * attaches it to other kernels.
 */
#include <gpubpf/probe.h>

struct calls {
	__u64 entered, left;
	__u64 ns;             /* sum over the threads */
	__u64 elements;       /* largest n that a thread received */
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
	/* subtract the time of entry and add the time of exit: the sum is the time between them */
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
