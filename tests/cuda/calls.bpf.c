/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of each device function, by name, and the sum of the low halves of their first arguments; calls of all by the
 * lowest bits of that argument, which differs from lane to lane. */
#include <gpubpf/probe.h>

struct told {
	__u64 calls, sum;
};
GPUBPF_HASH(functions, struct gpubpf_name, struct told, 64);
GPUBPF_ARRAY(arguments, __u64, 8);

SEC("gpu/call/*")
int called(struct gpubpf_ctx *ctx)
{
	struct told none = { 0, 0 }, *t;
	struct gpubpf_name name;

	gpubpf_add(&arguments, ctx->arg[0] & 7, 1);
	gpubpf_function_name(ctx, &name);
	t = bpf_map_lookup_elem(&functions, &name);
	if (!t) {
		bpf_map_update_elem(&functions, &name, &none, BPF_NOEXIST);
		t = bpf_map_lookup_elem(&functions, &name);
	}
	if (!t)
		return 0;
	__atomic_fetch_add(&t->calls, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->sum, (__u32)ctx->arg[0], __ATOMIC_RELAXED);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
