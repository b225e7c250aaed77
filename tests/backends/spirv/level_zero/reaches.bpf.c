/* SPDX-License-Identifier: Apache-2.0 */
/* Follows a pointer in the memory of the kernel's first argument. The target is not an argument (ze-pointers). */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(reached, __u64, 1);

SEC("gpu/entry/scale")
int reaches(struct gpubpf_ctx *ctx)
{
	__u64 *to = bpf_map_lookup_elem(&reached, &(__u32){ 0 });
	__u64 at = 0;
	__u32 word = 0;

	if (ctx->global_linear || !to)
		return 0;
	bpf_probe_read_kernel(&at, sizeof(at), (void *)ctx->arg[0]);
	bpf_probe_read_kernel(&word, sizeof(word), (void *)at);
	*to = word;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
