// A field that struct gpubpf_ctx does not have: bpf_core_field_exists() returns 0, and the object loads.
// >>> prog 0 use
// >>> insn 0: r0 = 0
#include <gpubpf/probe.h>
#include <bpf/bpf_core_read.h>

struct gpubpf_ctx___later {
	__u64 weather;
} __attribute__((preserve_access_index));

SEC("gpu/entry/*") int use(struct gpubpf_ctx___later *ctx)
{
	return bpf_core_field_exists(ctx->weather);
}
