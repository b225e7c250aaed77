/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a write to a constant. */
#include "../../case.h"

EXPECT("refused READONLY_MEM");

static const volatile __u64 numbers[4] = { 1, 2, 3, 4 };

SEC("gpu/entry/*")
int constant_written(struct gpubpf_ctx *ctx)
{
	*(volatile __u64 *)&numbers[1] = 5;
	return 0;
}
