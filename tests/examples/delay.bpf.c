/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf_delay() waits at least as long as requested, by bpf_ktime_get_ns(), and does not wait for a request of 0. */
#include <gpubpf/probe.h>

struct delayed {
	__u64 delays, kept, told; /* delays that were long enough: by the clock (kept), by the helper's result (told) */
};
GPUBPF_ARRAY(delayed, struct delayed, 1);

SEC("gpu/exit/*")
int delay(struct gpubpf_ctx *ctx)
{
	struct delayed *d = bpf_map_lookup_elem(&delayed, &(__u32){ 0 });
	__u64 ns = ctx->global_linear & 7 ? 0 : 5000, from = bpf_ktime_get_ns(), passed = gpubpf_delay(ns);
	__u64 clock = bpf_ktime_get_ns() - from;

	if (!d)
		return 0;
	gpubpf_count(&d->delays, 1);
	gpubpf_count(&d->kept, clock >= ns);
	gpubpf_count(&d->told, ns ? passed >= ns : !passed);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
