/* SPDX-License-Identifier: Apache-2.0 */
/* An object whose maps need more memory than an arena may have. */
#include <gpubpf/probe.h>

struct wide {
	__u64 words[4096];
};

GPUBPF_ARRAY(far, struct wide, 1 << 30);

SEC("gpu/exit/*")
int count(struct gpubpf_ctx *ctx)
{
	struct wide *w = bpf_map_lookup_elem(&far, &(__u32){ 0 });

	if (w)
		w->words[0] = 1;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
