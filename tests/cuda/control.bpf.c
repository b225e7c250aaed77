/* SPDX-License-Identifier: Apache-2.0 */
#include "told.h"

GPUBPF_ARRAY(atomics, struct told, 1);
GPUBPF_ARRAY(barriers, struct told, 1);
GPUBPF_ARRAY(passed, struct told, 1);
GPUBPF_ARRAY(branches, struct told, 1);
GPUBPF_ARRAY(begun, struct told, 1);
GPUBPF_ARRAY(ended, struct told, 1);

SEC("gpu/atomic/*") int atomic(struct gpubpf_ctx *ctx) { return tell(&atomics, ctx); }
SEC("gpu/barrier/*") int waits(struct gpubpf_ctx *ctx) { return tell(&barriers, ctx); }
SEC("gpu/barrier_exit/*") int goes_on(struct gpubpf_ctx *ctx) { return tell(&passed, ctx); }
SEC("gpu/branch/*") int branch(struct gpubpf_ctx *ctx) { return tell(&branches, ctx); }
SEC("gpu/block_begin/*") int begins(struct gpubpf_ctx *ctx) { return tell(&begun, ctx); }
SEC("gpu/block_end/*") int ends(struct gpubpf_ctx *ctx) { return tell(&ended, ctx); }

char LICENSE[] SEC("license") = "GPL";
