/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that kernels load from and store to each of the application's allocations, by their numbers; the last row is that of
 * all others. Values that are only added to have a copy a multiprocessor, so what allocations are stands in a map beside. */
#include <gpubpf/probe.h>

#define ROWS 4096
#define OTHERS (ROWS - 1)

struct memory {
	gpubpf_address base;
	__u64 size;
	__u64 kind; /* 1 device, 2 managed, 3 host */
};
GPUBPF_ARRAY(memories, struct memory, ROWS);

struct GPUBPF_ROW moved {
	__u64 loaded, stored;
};
GPUBPF_ARRAY(moved, struct moved, ROWS);

/* Lanes write the same, whichever is the last. */
static __always_inline void describe(__u32 row, const struct gpubpf_allocation *of)
{
	struct memory *m = bpf_map_lookup_elem(&memories, &row);

	if (!m || m->size == of->size)
		return;
	m->base = of->base;
	m->kind = of->kind;
	m->size = of->size;
}

SEC("gpu/mem/*")
int access(struct gpubpf_ctx *ctx)
{
	__u64 bytes = ctx->mem.bytes, kind = ctx->mem.access;
	struct gpubpf_allocation of;
	__u32 row = OTHERS;
	struct moved *m;

	if (!gpubpf_allocation(ctx->mem.addr, &of) && of.number < OTHERS) {
		row = of.number;
		describe(row, &of);
	}
	m = bpf_map_lookup_elem(&moved, &row);
	if (!m)
		return 0;
	if (kind != GPUBPF_STORE) /* a prefetch loads, an atomic does both */
		gpubpf_count(&m->loaded, bytes);
	if (kind == GPUBPF_STORE || kind == GPUBPF_ATOMIC)
		gpubpf_count(&m->stored, bytes);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
