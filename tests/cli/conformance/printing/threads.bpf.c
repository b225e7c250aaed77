/* SPDX-License-Identifier: Apache-2.0 */
/* Every thread prints, and no print is lost. */
#include "../case.h"

EXPECT("launch 4,1,1 32,1,1");
EXPECT("alone");
EXPECT("print 128 launch 5");

SEC("gpu/entry/*")
int print(struct gpubpf_ctx *ctx)
{
	bpf_printk("launch %llu", ctx->launch);
	return 0;
}
