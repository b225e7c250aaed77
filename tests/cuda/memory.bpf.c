/* SPDX-License-Identifier: Apache-2.0 */
#include "told.h"

GPUBPF_ARRAY(global, struct told, 1);
GPUBPF_ARRAY(all, struct told, 1);

SEC("gpu/mem/*") int mem(struct gpubpf_ctx *ctx) { return tell(&global, ctx); }
SEC("gpu/mem.all/*") int mem_all(struct gpubpf_ctx *ctx) { return tell(&all, ctx); }

char LICENSE[] SEC("license") = "GPL";
