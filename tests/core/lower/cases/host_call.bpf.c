/* SPDX-License-Identifier: Apache-2.0 */
/* Host calls: converged and divergent, with arguments of odd sizes on the stack, in maps and in constants. */
#include <gpubpf/probe.h>

struct ask {
	__u8 bytes[13];
};

struct reply {
	__u8 bytes[21];
};

GPUBPF_HOST_CALL(calls, struct ask, struct reply);
GPUBPF_ARRAY(asks, struct ask, 4);
GPUBPF_ARRAY(replies, struct reply, 4);
GPUBPF_ARRAY(out, __u64, 4);
const struct ask fixed = { { 1, 2, 3 } };

SEC("gpu/entry/*")
int host_call(struct gpubpf_ctx *ctx)
{
	struct ask ask = { { 7, ctx->thread_idx[0] } }, *from;
	struct reply reply = {}, *to;
	__u32 key = ctx->thread_idx[0] & 3;

	gpubpf_add(&out, 0, gpubpf_call_host(&calls, &ask, &reply));
	gpubpf_add(&out, 1, reply.bytes[20]);
	if (ctx->thread_idx[0] & 1)
		gpubpf_add(&out, 2, gpubpf_call_host(&calls, (void *)&fixed, &reply));
	from = bpf_map_lookup_elem(&asks, &key);
	to = bpf_map_lookup_elem(&replies, &key);
	if (from && to)
		gpubpf_add(&out, 3, gpubpf_call_host(&calls, from, to));
	return 0;
}
