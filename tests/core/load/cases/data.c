// Global data: initial values, flags and types of its maps. A variable's address is an offset in the map's only value.
// >>> map 0 data.rodata ARRAY key 4 value 24 max 1 flags 0x480 rdonly data
// >>>   init { .limit = 77, .greeting = "hello" }
// >>> map 1 data.data ARRAY key 4 value 8 max 1 flags 0x400 data
// >>>   init { .step = 5 }
// >>> map 2 data.bss ARRAY key 4 value 16 max 1 flags 0x400 data
// >>>   init { .total = 0, .seen = 0 }
// >>> map[0][0]+0
// >>> map[2][0]+
#include <gpubpf/probe.h>

const volatile __u64 limit = 77;
const volatile char greeting[16] = "hello";
volatile __u64 step = 5;
__u64 total, seen;

SEC("gpu/entry/*") int use(struct gpubpf_ctx *ctx)
{
	if (ctx->launch < limit)
		__atomic_fetch_add(&total, step, __ATOMIC_RELAXED);
	__atomic_fetch_add(&seen, greeting[ctx->site & 15], __ATOMIC_RELAXED);
	return 0;
}
