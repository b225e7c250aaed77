/* SPDX-License-Identifier: Apache-2.0 */
/* HOST_CALL without a function of the host: each call fails at once, writes zeros and nothing beyond its output. */
#include "../case.h"

EXPECT("launch 4,1,1 64,1,1");
EXPECT("checks 1024");

struct ask {
	__u8 bytes[13];
};

struct reply {
	__u32 value[3];
};

GPUBPF_HOST_CALLS(calls, struct ask, struct reply, 3);

SEC("gpu/entry/*")
int host_call(struct gpubpf_ctx *ctx)
{
	struct ask ask = { { 1, 2, 3 } };
	struct reply reply[2] = { { { 1, 2, 3 } }, { { 4, 5, 6 } } };

	CHECK(gpubpf_call_host(&calls, &ask, &reply[0]), -38);
	CHECK(reply[0].value[0] | reply[0].value[2], 0);
	CHECK(reply[1].value[0], 4);
	if (ctx->thread_idx[0] & 1)
		CHECK(gpubpf_call_host(&calls, &ask, &reply[1]), -38);
	else
		CHECK(ask.bytes[2], 3);
	return 0;
}
