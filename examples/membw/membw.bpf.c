/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that kernels load from and store to each of the application's allocations; of all others in one row. */
#include <gpubpf/probe.h>

struct memory {
	__u32 number; /* of the allocation, in the order in which they were made */
	__u32 kind;   /* 1 device, 2 managed, 3 host; 0: none that is known */
	gpubpf_address base;
	__u64 size;
};
struct GPUBPF_ROW moved {
	__u64 loaded, stored;
};
GPUBPF_HASH(memories, struct memory, struct moved, 4096);

static __always_inline struct moved *find_or_create(struct memory *key)
{
	struct moved *m = bpf_map_lookup_elem(&memories, key), none = {};

	if (m)
		return m;
	bpf_map_update_elem(&memories, key, &none, BPF_NOEXIST); /* another lane may be first: also fine */
	return bpf_map_lookup_elem(&memories, key);
}

SEC("gpu/mem/*")
int access(struct gpubpf_ctx *ctx)
{
	__u64 bytes = ctx->mem.bytes, kind = ctx->mem.access;
	struct gpubpf_allocation of;
	struct memory key = {};
	struct moved *m;

	if (!gpubpf_allocation(ctx->mem.addr, &of))
		key = (struct memory){ of.number, of.kind, of.base, of.size };
	m = find_or_create(&key);
	if (!m)
		return 0;
	if (kind != GPUBPF_STORE) /* a prefetch loads, an atomic does both */
		gpubpf_count(&m->loaded, bytes);
	if (kind == GPUBPF_STORE || kind == GPUBPF_ATOMIC)
		gpubpf_count(&m->stored, bytes);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
