/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread calls the host, checks the answer, and counts the outcome. */
#include <gpubpf/probe.h>

#include "host_call.h"

#define ETIMEDOUT 110
#define EBUSY 16
#define ENOSYS 38

GPUBPF_HOST_CALLS(calls, struct ask, struct reply, 64);
GPUBPF_ARRAY(outcomes, __u64, OUTCOMES);

SEC("gpu/entry/work")
int call(struct gpubpf_ctx *ctx)
{
	struct ask ask = { ctx->block_idx[0] * ctx->block_dim[0] + ctx->thread_idx[0], (__u32)ctx->launch };
	struct reply reply;
	long ret = gpubpf_call_host(&calls, &ask, &reply);
	__u32 outcome = WRONG;

	if (ret == -ETIMEDOUT || ret == -EBUSY)
		outcome = LATE;
	else if (ret == -ENOSYS)
		outcome = REFUSED;
	if (outcome != WRONG && (reply.value || reply.launch || reply.end[2]))
		outcome = WRONG;
	if (ret == (long)(ask.thread % 1000) && reply.value == ask.thread * 3 + 7 && reply.launch == ask.launch &&
	    reply.end[2] == 0xee)
		outcome = EXACT;
	gpubpf_add(&outcomes, outcome, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
