/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Global data for tests of skeletons: constants that a loader sets, sums, and a packed struct whose members are not
 * aligned.
 */
#include <gpubpf/probe.h>
#include <stdbool.h>

struct limits {
	__u64 most;
	__u8 kind, of[3];
	union {
		__s32 low;
		float real;
	};
};

struct __attribute__((packed)) odd {
	__u8 first;
	__u64 second;
};

const volatile __u32 step = 1;
const volatile struct limits limits = { .most = 1, .kind = 2, .of = { 3, 4, 5 }, .low = -6 };
const volatile bool on = true;
static volatile __u16 hidden = 77;
__u64 sum, last[2][3];
struct odd odd = { 8, 9 };
__u32 begun = 5;

SEC("gpu/entry/step_*")
int count(struct gpubpf_ctx *ctx)
{
	if (on && ctx->global_linear < limits.most)
		__sync_fetch_and_add(&sum, step);
	if (ctx->global_linear)
		return 0;
	begun += hidden;
	last[1][2] = ctx->launch;
	odd.first = (__u8)limits.low;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
