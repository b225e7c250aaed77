/* SPDX-License-Identifier: Apache-2.0 */
/* Host calls for bench/host_call.c: each thread makes as many calls, one after another, as the data buffer says. */
#include <gpubpf/probe.h>

struct pair {
	__u64 a, b;
};

GPUBPF_HOST_CALLS(calls, struct pair, struct pair, 4096);
GPUBPF_ARRAY(failed, __u64, 1);

SEC("gpu/run/")
int call(struct gpubpf_ctx *ctx)
{
	__u64 *n = gpubpf_data(0, sizeof(*n)), i;
	struct pair in = { ctx->global_linear, 1 }, out = { 0, 0 };

	for (i = 0; n && i < 90 && i < *n; i++) {
		if (gpubpf_call_host(&calls, &in, &out) || out.a != in.a + in.b)
			gpubpf_add(&failed, 0, 1);
		in.b = out.a;
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
