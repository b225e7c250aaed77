/* SPDX-License-Identifier: Apache-2.0 */
/* The printed lines for each format of bpf_printk(), and for the texts of ebpf_puts(). */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("print 1 -5 4294967291 fffffffb");
EXPECT("print 1 18446744073709551615 -1 ffffffffffffffff");
EXPECT("print 1 FF c 100%");
EXPECT("print 1 a string in .rodata");
EXPECT("print 1 puts on the stack");

static const char text[] = "a string in .rodata";

SEC("gpu/entry/*")
int formats(struct gpubpf_ctx *ctx)
{
	char stack[] = "puts on the stack";

	bpf_printk("%d %u %x", -5, -5, -5);
	bpf_printk("%llu %lld %llx", -1ull, -1ll, -1ull);
	bpf_printk("%X %c 100%%", 255, 'c');
	ebpf_puts(text);
	ebpf_puts(stack);
	return 0;
}
