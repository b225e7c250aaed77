// A context struct declared with fewer fields in another order: CO-RE relocates its accesses to struct gpubpf_ctx.
// >>> prog 0 use
// >>> *(u64 *)(r1 +360)
// >>> *(u64 *)(r1 +168)
// >>> *(u32 *)(r1 +188)
#include <gpubpf/probe.h>

struct gpubpf_ctx___mine {
	__u64 arg[2];
	__u32 nargs;
	__u64 launch;
} __attribute__((preserve_access_index));

SEC("gpu/entry/*") int use(struct gpubpf_ctx___mine *ctx)
{
	__u64 launch = ctx->launch;
	__u64 arg = ctx->arg[1];

	barrier();
	bpf_printk("%lx %lx %x", launch, arg, ctx->nargs);
	return 0;
}
