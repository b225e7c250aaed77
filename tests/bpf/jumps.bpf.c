/* SPDX-License-Identifier: Apache-2.0 */
/* What a loader cannot have on a GPU: a program that goes on in others. */
#include "../load/ints.h"

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, 3 /* BPF_MAP_TYPE_PROG_ARRAY */);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} jumps SEC(".maps");

const volatile __u64 step = 1;

SEC("kprobe/step_one")
int cuda__jumps(void *ctx)
{
	bpf_tail_call(ctx, &jumps, step);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
