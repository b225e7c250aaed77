// The source line of an instruction is shown without its leading blanks.
// >>> line 9: return ctx->launch + ctx->kernel;
// >>> insn 0: r
#include <gpubpf/probe.h>

SEC("gpu/entry/*")
int use(struct gpubpf_ctx *ctx)
{
		return ctx->launch + ctx->kernel;
}
