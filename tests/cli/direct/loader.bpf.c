/* SPDX-License-Identifier: Apache-2.0 */
/* bpftime's section, with the data of BPF_PROG_TEST_RUN: each word becomes 2 * word + 1. */
#include <gpubpf/probe.h>

SEC("kprobe/__directly_run") int cuda__run(void *ctx)
{
	__u64 block, thread, y, z, *word;

	bpf_get_block_idx(&block, &y, &z);
	bpf_get_thread_idx(&thread, &y, &z);
	word = gpubpf_data((block * 32 + thread) * 8, 8);

	if (!word)
		return 1;
	*word = 2 * *word + 1;
	return 9;
}

char LICENSE[] SEC("license") = "GPL";
