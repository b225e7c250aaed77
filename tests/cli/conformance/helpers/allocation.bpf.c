/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe_read and gpubpf_allocation helpers (4, 45, 112 to 115, 523, 526) fail on addresses outside all known
 * allocations.
 */
#include "../case.h"

EXPECT("launch 2,1,1 16,1,1");
EXPECT("checks 544");

#define EFAULT 14
#define ENOENT 2

SEC("gpu/entry/*")
int unknown(struct gpubpf_ctx *ctx)
{
	__u64 word = ~0ull, nowhere = 0xdead0000 + ctx->global_linear;
	struct gpubpf_allocation of = { .base = 1, .size = 2, .kind = 3, .number = 4 };
	char text[8] = "before";
	__u32 none = 0;

	CHECK(bpf_probe_read(&word, sizeof(word), 0), -EFAULT);
	CHECK(word, 0);
	word = ~0ull;
	CHECK(bpf_probe_read_kernel(&word, 5, (void *)nowhere), -EFAULT);
	CHECK(word, 0xffffff0000000000);
	CHECK(bpf_probe_read_user(&word, 8, (void *)~0ull), -EFAULT);
	CHECK(bpf_probe_read_user_str(text, sizeof(text), (void *)nowhere), -EFAULT);
	CHECK(text[0] | text[1], 0);
	CHECK(bpf_probe_read_kernel_str(text, sizeof(text), 0), -EFAULT);
	CHECK(bpf_probe_read_str(text, sizeof(text), (void *)nowhere), -EFAULT);
	CHECK(bpf_probe_read(&word, 0, (void *)nowhere), 0);
	CHECK(gpubpf_allocation(nowhere, &of), -ENOENT);
	CHECK(of.base | of.size, 0);
	CHECK(of.kind | of.number, 0);
	CHECK(gpubpf_allocation(0, &of), -ENOENT);
	CHECK(gpubpf_allocation_number(nowhere), -ENOENT);
	CHECK(gpubpf_allocation_number(0), -ENOENT);
	CHECK(bpf_gpu_allocation(~0ull, (void *)&none, sizeof(none)), -ENOENT);
	return 0;
}
