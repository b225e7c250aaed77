/* SPDX-License-Identifier: Apache-2.0 */
/* Counts bytes loaded and stored per source line. At each place all lanes add to the same one or two values. */
#include <gpubpf/probe.h>

struct moved {
	__u64 loaded, stored;
};
GPUBPF_ARRAY(moved, struct moved, 64);

SEC("gpu/mem/*")
int access(struct gpubpf_ctx *ctx)
{
	__u64 bytes = ctx->mem.bytes;
	__u32 line = ctx->line & 63;
	struct moved *m = bpf_map_lookup_elem(&moved, &line);

	if (!m)
		return 0;
	if (ctx->mem.access != GPUBPF_STORE)
		gpubpf_count(&m->loaded, bytes);
	if (ctx->mem.access != GPUBPF_LOAD)
		gpubpf_count(&m->stored, bytes);
	return 0;
}

/* three adds in one program; two of them add to the same value */
SEC("gpu/mem_before/*")
int twice(struct gpubpf_ctx *ctx)
{
	__u32 line = ctx->line & 63;
	struct moved *m = bpf_map_lookup_elem(&moved, &line);

	for (int i = 0; m && i < 3; i++) {
		gpubpf_count(i ? &m->loaded : &m->stored, ctx->mem.bytes);
		barrier_var(i);
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
