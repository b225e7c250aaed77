/* SPDX-License-Identifier: Apache-2.0 */
/* The application's buffer is a known allocation. Reads inside the buffer succeed, reads outside fail. */
#include "../../case.h"

EXPECT("workload plain");
EXPECT("needs ALLOCATIONS");
EXPECT("launch 4,1,1 32,1,1");
EXPECT("checks 2176");

#define EFAULT 14
#define ENOENT 2

GPUBPF_ALLOCATIONS(made, 64);

/* Checks base and size of the allocation with this number in the session's table of allocations. */
static __always_inline void check_told(__u32 number, __u64 base, __u64 size)
{
	struct gpubpf_allocation *told = bpf_map_lookup_elem(&made, &number);

	CHECK(told ? told->base : 1, base);
	CHECK(told ? told->size : 1, size);
	CHECK(told ? told->number : ~0u, number);
}

SEC("gpu/exit/plain")
int known(struct gpubpf_ctx *ctx)
{
	__u64 to = ctx->arg[0], mine = to + 4 * ctx->global_linear;
	struct gpubpf_allocation of;
	__u32 word = 0;
	__u64 two = ~0ull;
	char text[8];

	CHECK(bpf_probe_read_kernel(&word, sizeof(word), (void *)mine), 0);
	CHECK(word, 3 * ctx->global_linear + 1);
	CHECK(gpubpf_allocation(mine, &of), 0);
	CHECK(of.base, to);
	CHECK(gpubpf_allocation_number(mine), of.number);
	check_told(of.number, of.base, of.size);
	CHECK(of.size >= 4096, 1); /* the allocation has at least a page; the kernel writes 512 bytes of it */
	/* HOST: Level Zero can place the buffer in host memory */
	CHECK(of.kind == GPUBPF_ALLOCATION_DEVICE || of.kind == GPUBPF_ALLOCATION_HOST, 1);
	CHECK(gpubpf_allocation(of.base + of.size - 1, &of), 0);
	CHECK(bpf_probe_read(&two, sizeof(two), (void *)(of.base + of.size - 8)), 0);
	CHECK(two, 0);
	CHECK(bpf_probe_read(&two, sizeof(two), (void *)(of.base + of.size - 4)), -EFAULT); /* half is outside */
	CHECK(gpubpf_allocation(of.base - 1, &of), -ENOENT);
	CHECK(bpf_probe_read_kernel_str(text, sizeof(text), (void *)mine), !(word & 255) ? 1 : word < 256 ? 2 : 3);
	CHECK((__u8)text[0], word & 255);
	return 0;
}
