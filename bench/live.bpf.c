/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF program for bench/live. The host writes a time stamp ("word") to a map. One thread of a running GPU kernel
 * answers each word with the word's age and the time of the answer. Host and GPU use the same clock.
 */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(said, __u64, 1);
GPUBPF_ARRAY(answer, __u64, 2);
GPUBPF_ARRAY(last, __u64, 1);

SEC("gpu/mem/*")
int at(struct gpubpf_ctx *ctx)
{
	__u32 zero = 0, one = 1;
	__u64 *word = bpf_map_lookup_elem(&said, &zero), *before = bpf_map_lookup_elem(&last, &zero), told, now;
	__u64 *age = bpf_map_lookup_elem(&answer, &one), *seen = bpf_map_lookup_elem(&answer, &zero);

	if (ctx->global_linear || !word || !before || !age || !seen)
		return 0;
	told = *word;
	if (told == *before)
		return 0;
	*before = told;
	now = bpf_ktime_get_ns();
	*age = now - told;
	bpf_gpu_membar();
	*seen = now;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
