/* SPDX-License-Identifier: Apache-2.0 */
/* Probes PTX instructions (sad) that have no machine instruction of this name. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(sads, __u64, 1);

SEC("gpu/insn/sad.*")
int sad(struct gpubpf_ctx *ctx)
{
	__u64 *n = bpf_map_lookup_elem(&sads, &(__u32){ 0 });

	if (n)
		gpubpf_count(n, 1);
	return 0;
}
