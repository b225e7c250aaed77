/* SPDX-License-Identifier: Apache-2.0 */
/* A one-liner of devices.sh, written as a C program; both must give the same counts. */
#include <gpubpf/probe.h>

struct key {
	gpubpf_kernel kernel;
	__u64 lane;
};
GPUBPF_HASH(by, struct key, struct gpubpf_hist, 64);
GPUBPF_ARRAY(threads, __u64, 1);

SEC("gpu/exit/step_*")
int left(struct gpubpf_ctx *ctx)
{
	struct key key = { gpubpf_kernel_of(ctx), ctx->thread_idx[0] % 4 };
	static const struct gpubpf_hist none;
	struct gpubpf_hist *h = bpf_map_lookup_elem(&by, &key);

	gpubpf_add(&threads, 0, 1);
	if (!h) {
		bpf_map_update_elem(&by, &key, &none, BPF_NOEXIST);
		h = bpf_map_lookup_elem(&by, &key);
	}
	if (h)
		gpubpf_observe_in(h, ctx->global_linear);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
