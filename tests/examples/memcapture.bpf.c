/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program at memory accesses in bpftime's form: address, size and kind of the access are in its argument registers.
 */
#include <gpubpf/probe.h>

struct captured {
	__u64 accesses, bytes, stores, lowest, lanes;
};
GPUBPF_ARRAY(captured, struct captured, 1);

SEC("kprobe/__memcapture")
int capture(struct pt_regs *ctx)
{
	struct captured *c = bpf_map_lookup_elem(&captured, &(__u32){ 0 });

	if (c) {
		gpubpf_count(&c->accesses, 1);
		gpubpf_count(&c->bytes, PT_REGS_PARM2(ctx));
		gpubpf_count(&c->stores, PT_REGS_PARM3(ctx) == GPUBPF_STORE);
		gpubpf_count(&c->lowest, PT_REGS_PARM1(ctx) & 0xfff);
		gpubpf_count(&c->lanes, __builtin_popcountll(bpf_warp_ballot(PT_REGS_PARM1(ctx) & 4)) +
			     __builtin_popcountll(bpf_warp_match(PT_REGS_PARM1(ctx))));
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
