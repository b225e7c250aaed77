/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All lanes compare and exchange one word with equal operands. In SPIR-V each lane must compute the address itself,
 * which own_address() of validate.py checks.
 */
#include <gpubpf/probe.h>


__u64 taken;
__u32 half;

SEC("gpu/exit/*")
int claim(void *ctx)
{
	return __sync_val_compare_and_swap(&taken, 0, 1) + __sync_val_compare_and_swap(&half, 0, 1);
}

char LICENSE[] SEC("license") = "GPL";
