/* SPDX-License-Identifier: Apache-2.0 */
/* A helper accesses words of 64 bits at byte 12 of the stack, and the program accesses the bytes on both sides. */
#include <gpubpf/probe.h>

struct reply {
	__u32 value[3];
};

GPUBPF_HOST_CALL(calls, __u64, struct reply);
GPUBPF_ARRAY(sum, __u64, 1);

SEC("gpu/entry/*")
int words(struct gpubpf_ctx *ctx)
{
	struct reply reply[2] = { { { 1, 2, 3 } }, { { 4, 5, 6 } } };
	__u64 ask = 7;

	gpubpf_call_host(&calls, &ask, &reply[0]);
	gpubpf_add(&sum, 0, reply[1].value[0]);
	if (ctx->thread_idx[0] & 1)
		gpubpf_call_host(&calls, &ask, &reply[1]);
	gpubpf_add(&sum, 0, reply[0].value[2] + reply[1].value[0]);
	return 0;
}
