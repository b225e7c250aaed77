/* SPDX-License-Identifier: Apache-2.0 */
/* Counts lanes that enter, lanes that exit, and blocks that end. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(entered, __u64, 1);
GPUBPF_ARRAY(left, __u64, 1);
GPUBPF_ARRAY(ended, __u64, 1);

SEC("gpu/entry/*") int enter(struct gpubpf_ctx *ctx) { gpubpf_add(&entered, 0, 1); return 0; }
SEC("gpu/exit/*") int leave(struct gpubpf_ctx *ctx) { gpubpf_add(&left, 0, 1); return 0; }
SEC("gpu/block_end/*") int end(struct gpubpf_ctx *ctx) { gpubpf_add(&ended, 0, 1); return 0; }

char LICENSE[] SEC("license") = "GPL";
