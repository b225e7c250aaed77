/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_printk() of more than three values, with texts of constants among them. */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("print 1 1 2 3 4");
EXPECT("print 1 1 2 3 4 5 6 7 8 9 10 11 12");
EXPECT("print 1 -1 one ff two 100%");

SEC("gpu/entry/*")
int many(struct gpubpf_ctx *ctx)
{
	__u64 n = ctx->block_dim[0];

	bpf_printk("%d %d %d %d", n, 2, 3, 4);
	bpf_printk("%d %d %d %d %d %d %d %d %d %d %d %d", n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
	bpf_printk("%lld %s %x %s 100%%", -n, "one", 255, "two");
	return 0;
}
