/* SPDX-License-Identifier: Apache-2.0 */
/* Counts calls and adds up the low halves of first arguments, per device function. Also counts all calls by the
 * lowest bits of this argument, which differ between lanes. Counts returns and adds up the low halves of results. */
#include <gpubpf/probe.h>

struct told {
	__u64 calls, sum;
};
GPUBPF_HASH(functions, struct gpubpf_name, struct told, 64);
GPUBPF_HASH(returns, struct gpubpf_name, struct told, 64);
GPUBPF_ARRAY(arguments, __u64, 8);

static __always_inline void tell(void *map, struct gpubpf_ctx *ctx, __u32 value)
{
	struct told none = { 0, 0 }, *t;
	struct gpubpf_name name;

	gpubpf_function_name(ctx, &name);
	t = bpf_map_lookup_elem(map, &name);
	if (!t) {
		bpf_map_update_elem(map, &name, &none, BPF_NOEXIST);
		t = bpf_map_lookup_elem(map, &name);
	}
	if (!t)
		return;
	__atomic_fetch_add(&t->calls, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->sum, value, __ATOMIC_RELAXED);
}

SEC("gpu/call/*")
int called(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&arguments, ctx->arg[0] & 7, 1);
	tell(&functions, ctx, ctx->arg[0]);
	return 0;
}

SEC("gpu/call_exit/*")
int returned(struct gpubpf_ctx *ctx)
{
	tell(&returns, ctx, ctx->result);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
