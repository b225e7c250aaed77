// The load copies a subprogram into each program that calls it, with its name and source lines.
// >>> prog 0 first
// >>>   func first at 0
// >>>   func twice at
// >>>   func once at
// >>> line 21: return once(x) + once(x + 1);
// >>> prog 1 second
// >>>   func second at 0
// >>>   func once at
// !!! sub_
#include <gpubpf/probe.h>

static __noinline int once(__u64 x)
{
	return x * 3 + bpf_get_prandom_u32();
}

static __noinline int twice(__u64 x)
{
	barrier();
	return once(x) + once(x + 1);
}

SEC("gpu/entry/*") int first(struct gpubpf_ctx *ctx) { return twice(ctx->launch); }
SEC("gpu/exit/*") int second(struct gpubpf_ctx *ctx) { return once(ctx->launch); }
